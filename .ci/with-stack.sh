# To be sourced: `start_stack` runs npm start in a new folder, $work, with the shipped handlers, and sets $api to the URL
# of its API. The stack stops with the script.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
export PATH=$root/node_modules/.bin:$PATH NO_COLOR=1
. .ci/python-venv.sh

work=$(mktemp -d)
stack=
finish() {
  if [ -n "$stack" ]; then
    kill -INT "$stack" 2>/dev/null || true
    wait "$stack" || true
  fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

start_stack() {
  chmod 755 "$work"
  mkdir "$work/functions"
  cp -R functions/. "$work/functions"
  ln -s "$root/core" "$root/node_modules" "$work/"
  cd "$work"
  node "$root/cli/millrace.js" dev >"$work/out" 2>&1 &
  stack=$!
  for _ in $(seq 600); do
    if grep -q 'Ctrl-C lets running jobs finish' "$work/out" || ! kill -0 "$stack" 2>/dev/null; then break; fi
    sleep 0.1
  done
  api=$(node -p 'JSON.parse(fs.readFileSync(".millrace/dev.json")).apiUrl') || {
    cat "$work/out" >&2
    exit 1
  }
}
