#!/usr/bin/env bash
# Runs a command several times while busy loops keep the load above 8, and prints how often it passed:
# `.ci/busy.sh 5 npm test`, `.ci/busy.sh 1 npm run stories`. It prints the name of a file with the output of each run.
# MILLRACE_BUSY_LOOPS=16 starts more loops. Fails if a run fails.
set -euo pipefail
cd "$(dirname "$0")/.."

times=$1
shift
loops=${MILLRACE_BUSY_LOOPS:-8}
pids=()
finish() {
  # Ends only the loops of this script, by process id.
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait "${pids[@]}" 2>/dev/null || true
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for _ in $(seq "$loops"); do
  (while :; do :; done) &
  pids+=($!)
done

output=$(mktemp -d)
passed=0
for run in $(seq "$times"); do
  started=$SECONDS result=passed
  "$@" >"$output/$run.log" 2>&1 || result=FAILED
  [ "$result" = FAILED ] || passed=$((passed + 1))
  read -r load _ </proc/loadavg
  echo "run $run of $times: $result after $((SECONDS - started)) s, load $load at its end: $output/$run.log"
done
echo "$passed of $times passed beside $loops busy loops: $*"
[ "$passed" -eq "$times" ]
