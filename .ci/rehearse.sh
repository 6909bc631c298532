#!/usr/bin/env bash
# Runs a deployment from `cdk bootstrap` to `cdk destroy` on MiniStack and a Postgres with TLS. MiniStack is installed
# separately from the product; all servers listen on loopback.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PATH
. .ci/python-venv.sh

python_venv ministack-1.5.33-tokens ministack==1.5.33 cryptography==50.0.2
export MILLRACE_MINISTACK=$venv/bin/ministack
vitest run --config test/rehearsal/vitest.config.ts "$@"
