#!/usr/bin/env bash
# Runs `npm start` in a fresh clone: it must install everything and start the product, with no npm warning except those
# of packages that require a newer Node. Then stops it as Ctrl-C does.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
npm=
finish() {
  if [ -n "$npm" ]; then
    # The signal goes to the whole process group, as from a terminal.
    kill -INT -- "-$npm" 2>/dev/null || true
    wait "$npm" || true
  fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Removes the Node of this checkout from the PATH. Postgres, which refuses to run as root, requires access to the folder.
PATH=${PATH#"$PWD/node_modules/.bin:"}
chmod 755 "$work"
git clone --quiet . "$work/clone"
cd "$work/clone"
set -m
npm start >"$work/out" 2>&1 &
npm=$!
set +m
begun=
until grep -q 'Ctrl-C lets running jobs finish' "$work/out"; do
  kill -0 "$npm" 2>/dev/null || { cat "$work/out"; exit 1; }
  if [ -z "$begun" ] && grep -q '^Starting Millrace' "$work/out"; then begun=$(date +%s.%N); fi
  sleep 0.1
done
ended=$(date +%s.%N)
cat "$work/out"
# Printed, not asserted: it depends on what else the machine does.
awk "BEGIN { printf \"first start to banner: %.1f s\\n\", $ended - ${begun:-$ended} }"
if grep -i 'npm warn' "$work/out" | grep -v 'EBADENGINE'; then
  echo 'first-start.sh: npm printed the warnings above' >&2
  exit 1
fi
