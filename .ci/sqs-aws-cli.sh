#!/usr/bin/env bash
# Runs the unmodified AWS CLI against our SQS emulator, with the commands of an operator who moves a dead letter back.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PATH
. .ci/python-venv.sh

version=1.46.3
work=$(mktemp -d)
server=
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

python_venv "aws-cli-$version" "awscli==$version"

node local/sqs/main.ts >"$work/out" &
server=$!
for _ in $(seq 100); do
  [ ! -s "$work/out" ] || break
  sleep 0.1
done
endpoint=$(node -p 'JSON.parse(fs.readFileSync(process.argv[1])).endpoint' "$work/out")

export AWS_DEFAULT_REGION=us-east-1 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true AWS_PAGER=
sqs() { "$venv/bin/aws" --endpoint-url "$endpoint" --output text sqs "$@"; }

checked=0
# expect <what> <expected> <command…>: the command must print exactly <expected>.
expect() {
  local what=$1 expected=$2 got
  shift 2
  got=$("$@")
  if [ "$got" != "$expected" ]; then
    printf 'sqs-aws-cli.sh: %s: expected "%s", got "%s"\n' "$what" "$expected" "$got" >&2
    exit 1
  fi
  checked=$((checked + 1))
}
arn() { sqs get-queue-attributes --queue-url "$1" --attribute-names QueueArn --query Attributes.QueueArn; }
receive() { sqs receive-message --queue-url "$1" --attribute-names All --visibility-timeout "$2" --query "$3"; }
depth() {
  sqs get-queue-attributes --queue-url "$1" --attribute-names ApproximateNumberOfMessages \
    --query Attributes.ApproximateNumberOfMessages
}
# move_state <arn>: waits for the end of the latest move task and prints its state.
move_state() {
  local state=RUNNING
  for _ in $(seq 30); do
    state=$(sqs list-message-move-tasks --source-arn "$1" --query 'Results[0].Status')
    [ "$state" = RUNNING ] || break
    sleep 0.2
  done
  echo "$state"
}

dlq=$(sqs create-queue --queue-name mail-dead --query QueueUrl)
dlq_arn=$(arn "$dlq")
policy="{\\\"deadLetterTargetArn\\\":\\\"$dlq_arn\\\",\\\"maxReceiveCount\\\":\\\"1\\\"}"
mail=$(sqs create-queue --queue-name mail --attributes "{\"RedrivePolicy\":\"$policy\"}" --query QueueUrl)

expect list-queues "$mail" sqs list-queues --queue-name-prefix mail --query "QueueUrls[?ends_with(@, 'mail')] | [0]"
expect get-queue-url "$mail" sqs get-queue-url --queue-name mail --query QueueUrl
sqs tag-queue --queue-url "$mail" --tags team=jobs
expect list-queue-tags jobs sqs list-queue-tags --queue-url "$mail" --query Tags.team
expect list-dead-letter-source-queues "$mail" \
  sqs list-dead-letter-source-queues --queue-url "$dlq" --query 'queueUrls[0]'

sqs send-message --queue-url "$mail" --message-body 'to Ada' \
  --message-attributes 'kind={DataType=String,StringValue=letter}' >"$work/sent"
expect receive-message 'to Ada' receive "$mail" 0 'Messages[0].Body'
expect 'the receive after the last' None receive "$mail" 0 'Messages[0].Body'
expect 'a dead letter' "$(arn "$mail")" receive "$dlq" 0 'Messages[0].Attributes.DeadLetterQueueSourceArn'

sqs start-message-move-task --source-arn "$dlq_arn" --max-number-of-messages-per-second 10 >"$work/handle"
expect list-message-move-tasks COMPLETED move_state "$dlq_arn"
expect 'the depth after the move' 0 depth "$dlq"
handle=$(receive "$mail" 60 'Messages[0].ReceiptHandle')
sqs change-message-visibility --queue-url "$mail" --receipt-handle "$handle" --visibility-timeout 30
sqs delete-message --queue-url "$mail" --receipt-handle "$handle"

sqs send-message-batch --queue-url "$mail" --entries Id=a,MessageBody=1 Id=b,MessageBody=2 >"$work/sent"
expect send-message-batch 2 depth "$mail"
sqs purge-queue --queue-url "$mail"
expect purge-queue 0 depth "$mail"
sqs add-permission --queue-url "$mail" --label reader --aws-account-ids 123456789012 --actions ReceiveMessage
sqs remove-permission --queue-url "$mail" --label reader
sqs set-queue-attributes --queue-url "$mail" --attributes VisibilityTimeout=5,RedrivePolicy=
sqs delete-queue --queue-url "$mail"
expect delete-queue None sqs list-queues --queue-name-prefix mail --query "QueueUrls[?ends_with(@, 'mail')] | [0]"

echo "AWS CLI $version: $checked answers of the SQS emulator as expected"
