#!/usr/bin/env bash
# Runs `npm ci`, and fails for any warning except that a package requires a newer Node.
set -euo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT
npm ci --no-fund --no-audit 2>&1 | tee "$log"
if grep -i 'npm warn' "$log" | grep -v 'EBADENGINE'; then
  echo 'install.sh: npm ci printed the warnings above' >&2
  exit 1
fi
