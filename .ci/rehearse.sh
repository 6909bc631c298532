#!/usr/bin/env bash
# A deployment from `cdk bootstrap` to `cdk destroy` on MiniStack and a Postgres with TLS, and the same template shown to
# moto. Both are installed once into the cache folder, apart from the product, and listen on loopback.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PATH

cache=${XDG_CACHE_HOME:-$HOME/.cache}/millrace-ci

# install <folder> <package…>: a venv of its own, complete or not there.
install() {
  local venv=$1
  shift
  [ ! -e "$venv/complete" ] || return 0
  python3 -c 'import ensurepip' 2>/dev/null || .ci/apt-install.sh ensurepip:python3-venv
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check "$@"
  touch "$venv/complete"
}

install "$cache/ministack-1.5.33" ministack==1.5.33
export MILLRACE_MINISTACK=$cache/ministack-1.5.33/bin/ministack
vitest run --config test/rehearsal/vitest.config.ts "$@"
