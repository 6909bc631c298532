#!/usr/bin/env bash
# An application in another language: a client that is generated from /openapi.json alone, and a program that enqueues
# and follows jobs by it, against the API of npm start.
set -euo pipefail
. "$(dirname "$0")/with-stack.sh"

version=0.29.1
python_venv "openapi-python-client-$version" "openapi-python-client==$version"
start_stack

curl -sSf "$api/openapi.json" -o "$work/openapi.json"
export PATH=$venv/bin:$PATH
openapi-python-client generate --path "$work/openapi.json" --output-path "$work/millrace_client" --meta none
# What it cannot express it leaves out.
count='Object.values(JSON.parse(fs.readFileSync(process.argv[1])).paths).flatMap(Object.keys).length'
operations=$(node -p "$count" "$work/openapi.json")
generated=$(find "$work/millrace_client/api" -name '*.py' ! -name __init__.py | wc -l)
if [ "$generated" -ne "$operations" ]; then
  echo "$generated of $operations operations were generated" >&2
  exit 1
fi
PYTHONPATH=$work python "$root/.ci/python-client.py" "$api"
