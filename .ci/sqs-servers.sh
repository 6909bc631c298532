#!/usr/bin/env bash
# Runs the SQS contract against our emulator and five other servers, each installed separately from the product and
# listening on loopback. Prints behaviour × server. ElasticMQ and moto must run; others may be reported as not run.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PATH
. .ci/python-venv.sh

cache=${XDG_CACHE_HOME:-$HOME/.cache}/millrace-ci
packages=$cache/sqs-servers-npm-fauxqs-2.4.1-local-aws-sqs-2.0.2
work=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Only what SQS requires: moto's extra `server` installs twice as much.
install_python() {
  python_venv sqs-servers-python-moto-5.2.5-ministack-1.5.33 moto==5.2.5 flask flask-cors ministack==1.5.33
}

install_npm() {
  [ ! -e "$packages/complete" ] || return 0
  rm -rf "$packages"
  mkdir -p "$packages"
  echo '{ "private": true, "type": "module" }' >"$packages/package.json"
  npm install --prefix "$packages" --no-fund --no-audit --ignore-scripts --loglevel=error \
    fauxqs@2.4.1 local-aws-sqs@2.0.2 && touch "$packages/complete"
}

free_port() {
  node -e 'const s = net.createServer().listen(0, "127.0.0.1", () => (console.log(s.address().port), s.close()))'
}

# start <NAME> <command…>: runs the command with a port in PORT, waits until it answers, and sets SQS_CONTRACT_<NAME>.
start() {
  local name=$1 port url pid
  shift
  port=$(free_port)
  url=http://127.0.0.1:$port
  PORT=$port "$@" >"$work/$name.log" 2>&1 </dev/null &
  pid=$!
  pids+=("$pid")
  for _ in $(seq 150); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      export "SQS_CONTRACT_$name=$url"
      return
    fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.2
  done
  echo "$name did not start:" >&2
  tail -n 20 "$work/$name.log" >&2
  export "SQS_CONTRACT_${name}_NOT_RUN=it did not start"
}

moto() { exec "$venv/bin/moto_server" -H 127.0.0.1 -p "$PORT"; }
ministack() { BIND_HOST=127.0.0.1 GATEWAY_PORT=$PORT exec "$venv/bin/ministack"; }
from_npm() { cd "$packages" && exec node --input-type=module -e "const port = +process.env.PORT; $1"; }
# The command of fauxqs listens on every address.
fauxqs() {
  from_npm 'const { buildApp } = await import("fauxqs"); await buildApp().listen({ port, host: "127.0.0.1" })'
}
local_aws_sqs() {
  from_npm 'const { createSqsServer } = await import("local-aws-sqs"); createSqsServer({ port, hostname: "127.0.0.1" })'
}

if install_python; then
  start MOTO moto
  start MINISTACK ministack
else
  export SQS_CONTRACT_MOTO_NOT_RUN='it could not be installed'
  export SQS_CONTRACT_MINISTACK_NOT_RUN='it could not be installed'
fi
if install_npm; then
  start FAUXQS fauxqs
  start LOCAL_AWS_SQS local_aws_sqs
else
  export SQS_CONTRACT_FAUXQS_NOT_RUN='it could not be installed'
  export SQS_CONTRACT_LOCAL_AWS_SQS_NOT_RUN='it could not be installed'
fi

# The minute-long behaviours run in parallel with the others.
contract='SQS_CONTRACT_ELASTICMQ=$ELASTICMQ_URL vitest run --config test/contract/servers.config.ts'
.ci/elasticmq.sh bash -c "$contract"
[ -n "${SQS_CONTRACT_MOTO:-}" ] || { echo 'sqs-servers.sh: moto did not run' >&2; exit 1; }
