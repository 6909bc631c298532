#!/usr/bin/env bash
# `npm start` alone in a fresh clone: it installs everything, without a warning but of packages that want a newer Node,
# and the product starts. Ends as Ctrl-C does.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
npm=
finish() {
  if [ -n "$npm" ]; then
    # To the whole group, as a terminal does.
    kill -INT -- "-$npm" 2>/dev/null || true
    wait "$npm" || true
  fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Without the Node that is installed here already. Postgres, which refuses root, has to get in.
PATH=${PATH#"$PWD/node_modules/.bin:"}
chmod 755 "$work"
git clone --quiet . "$work/clone"
cd "$work/clone"
set -m
npm start >"$work/out" 2>&1 &
npm=$!
set +m
until grep -q 'Ctrl-C lets running jobs finish' "$work/out"; do
  kill -0 "$npm" 2>/dev/null || { cat "$work/out"; exit 1; }
  sleep 0.5
done
cat "$work/out"
if grep -i 'npm warn' "$work/out" | grep -v 'EBADENGINE'; then
  echo 'first-start.sh: npm printed the warnings above' >&2
  exit 1
fi
