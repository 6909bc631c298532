#!/usr/bin/env bash
# The life stories with ElasticMQ in the place of our SQS emulator, through AWS_ENDPOINT_URL_SQS alone.
# Each file has an ElasticMQ of its own: stacks give their queues the same names.
set -euo pipefail
cd "$(dirname "$0")/.."

# Not told here: cli-03-stopping, damaged-data and starting kill or look for the servers of the stack itself, and
# other-sqs brings a server along.
stories=(dead-letters handlers move-task outage poison samples)

# tell <story> <names>: runs those of its tests that match <names>, and asks the server which queues it has of them.
tell() {
  local answer queues suite=test/support/stories.config.ts
  [ -e "test/life/$1.story.ts" ] || suite=vitest.config.ts
  AWS_ENDPOINT_URL_SQS=$ELASTICMQ_URL npx vitest run --config "$suite" "test/life/$1." --testNamePattern "$2"
  answer=$(curl -fsS -d 'Action=ListQueues&Version=2012-11-05' "$ELASTICMQ_URL/")
  queues=$(grep -oE 'millrace-local-[a-z_]+-dlq' <<<"$answer")
  echo "ElasticMQ served $1 through:" $queues
}
export -f tell

failed=
for story in "${stories[@]}"; do
  names=.
  case $story in
    # ElasticMQ does not hold 'a long poll whose client has gone takes nothing': the one that ended with the mapping
    # takes the next message, which is hidden until its visibility ends.
    samples) names='^(?!leaves messages alone while their mapping is disabled)' ;;
  esac
  .ci/elasticmq.sh bash -euo pipefail -c 'tell "$@"' tell "$story" "$names" || failed+=" $story"
done
[ -z "$failed" ] || { echo "failed with ElasticMQ:$failed"; exit 1; }
