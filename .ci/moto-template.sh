#!/usr/bin/env bash
# Deploys the synthesised template to moto, a second emulator of AWS beside that of the rehearsal. It is installed
# separately from the product and listens on loopback.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PATH
. .ci/python-venv.sh

python_venv moto-5.2.5-cloudformation 'moto[cloudformation,server]==5.2.5'
export MILLRACE_MOTO=$venv/bin
vitest run --config test/moto/vitest.config.ts "$@"
