#!/usr/bin/env bash
# `npm ci`, which must be as quiet as it is promised to be: no warning but that some package wants a newer Node.
set -euo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT
npm ci --no-fund --no-audit 2>&1 | tee "$log"
if grep -i 'npm warn' "$log" | grep -v 'EBADENGINE'; then
  echo 'install.sh: npm ci printed the warnings above' >&2
  exit 1
fi
