#!/usr/bin/env bash
# Installs the packed npm packages in a copy of each project in examples/, compiles it and runs its tests on a stack.
# Requires the npm registry.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PATH

npm run --silent example test
# With the types of the packages; `npm run types` compiles the examples with those of the sources.
tsc -p .examples
