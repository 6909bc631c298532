#!/usr/bin/env bash
# The synthesised template on moto, an AWS that is not ours and not the one of the rehearsal; it is installed apart
# from the product and listens on loopback.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PATH
. .ci/python-venv.sh

python_venv moto-5.2.5-cloudformation 'moto[cloudformation,server]==5.2.5'
export MILLRACE_MOTO=$venv/bin
vitest run --config test/moto/vitest.config.ts "$@"
