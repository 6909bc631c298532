#!/usr/bin/env bash
# Runs tests from test/life with ElasticMQ instead of our SQS emulator, through AWS_ENDPOINT_URL_SQS alone.
# Each file uses a new ElasticMQ, since all stacks use the same queue names.
set -euo pipefail
cd "$(dirname "$0")/.."

# Excluded: cli-03-stopping, damaged-data and starting, which kill or inspect the servers of the stack, and other-sqs,
# which starts its own server.
stories=(dead-letters handlers move-task outage poison samples)

# run_story <story> <names>: runs the tests that match <names>, and lists the queues of the server.
run_story() {
  local answer queues suite=test/support/stories.config.ts
  [ -e "test/life/$1.story.ts" ] || suite=vitest.config.ts
  AWS_ENDPOINT_URL_SQS=$ELASTICMQ_URL npx vitest run --config "$suite" "test/life/$1." --testNamePattern "$2"
  answer=$(curl -fsS -d 'Action=ListQueues&Version=2012-11-05' "$ELASTICMQ_URL/")
  queues=$(grep -oE 'millrace-local-[a-z_]+-dlq' <<<"$answer")
  echo "ElasticMQ served $1 through:" $queues
}
export -f run_story

failed=
for story in "${stories[@]}"; do
  names=.
  case $story in
    # ElasticMQ gives a message to a long poll whose client is gone: the poll of the disabled mapping receives the next
    # message, which stays hidden until its visibility timeout ends.
    samples) names='^(?!a disabled mapping receives no messages)' ;;
  esac
  .ci/elasticmq.sh bash -euo pipefail -c 'run_story "$@"' run_story "$story" "$names" || failed+=" $story"
done
[ -z "$failed" ] || { echo "failed with ElasticMQ:$failed"; exit 1; }
