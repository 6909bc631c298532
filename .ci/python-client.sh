#!/usr/bin/env bash
# Tests the API from another language: generates a client from /openapi.json alone, and runs a program that enqueues and
# follows jobs with it, against the API of npm start.
set -euo pipefail
. "$(dirname "$0")/with-stack.sh"

version=0.29.1
python_venv "openapi-python-client-$version" "openapi-python-client==$version"
start_stack

curl -sSf "$api/openapi.json" -o "$work/openapi.json"
export PATH=$venv/bin:$PATH
openapi-python-client generate --path "$work/openapi.json" --output-path "$work/millrace_client" --meta none
# The generator skips operations that it does not support.
count='Object.values(JSON.parse(fs.readFileSync(process.argv[1])).paths).flatMap(Object.keys).length'
operations=$(node -p "$count" "$work/openapi.json")
generated=$(find "$work/millrace_client/api" -name '*.py' ! -name __init__.py | wc -l)
if [ "$generated" -ne "$operations" ]; then
  echo "$generated of $operations operations were generated" >&2
  exit 1
fi
PYTHONPATH=$work python "$root/.ci/python-client.py" "$api"
