#!/usr/bin/env bash
# Installs the packed npm packages in a project of its own, with npm, pnpm and Yarn, and takes the first from
# `millrace init` to a deployment on MiniStack. Requires the npm registry.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PATH
. .ci/python-venv.sh

python_venv ministack-1.5.33 ministack==1.5.33
export MILLRACE_MINISTACK=$venv/bin/ministack
vitest run --config test/adoption/vitest.config.ts "$@"
