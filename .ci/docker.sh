#!/usr/bin/env bash
# Runs a separate Docker engine, for machines without a running one: `docker.sh start`, `docker.sh stop`.
# Keeps its data, socket and pid file in one folder, binds published ports to loopback, and does not change the firewall
# and IP forwarding of the machine (containers have no route out, which a database does not require).
set -euo pipefail

root=${MILLRACE_CI_DOCKER:-${TMPDIR:-/tmp}/millrace-ci-docker}
pid_file=$root/docker.pid
export DOCKER_HOST=unix://$root/docker.sock

fail() {
  echo "docker.sh: $*" >&2
  exit 1
}

running() {
  # Another process may have the pid by now.
  [ -s "$pid_file" ] && [ "$(cat "/proc/$(cat "$pid_file")/comm" 2>/dev/null)" = dockerd ]
}

start() {
  "$(dirname "$0")/apt-install.sh" dockerd:docker.io
  mkdir -p "$root"
  if ! running; then
    rm -f "$pid_file"
    [ -e /sys/class/net/docker0 ] || touch "$root/bridge-is-ours"
    setsid dockerd --data-root "$root/data" --exec-root "$root/exec" --pidfile "$pid_file" --host "$DOCKER_HOST" \
      --storage-driver overlay2 --bip 172.31.231.1/24 --ip 127.0.0.1 \
      --iptables=false --ip-forward=false --ip-masq=false >"$root/dockerd.log" 2>&1 </dev/null &
  fi
  for _ in $(seq 100); do
    docker version >/dev/null 2>&1 && return
    sleep 0.2
  done
  tail -n 20 "$root/dockerd.log" >&2
  fail 'dockerd did not answer within 20 s'
}

stop() {
  if running; then
    local pid
    pid=$(cat "$pid_file")
    kill "$pid"
    for _ in $(seq 100); do
      [ -d "/proc/$pid" ] || break
      sleep 0.2
    done
    [ ! -d "/proc/$pid" ] || fail "dockerd ($pid) did not stop within 20 s"
  fi
  if [ -e "$root/bridge-is-ours" ]; then
    ip link delete docker0 2>/dev/null || true
  fi
  rm -rf "$root"
}

case ${1:-} in
  start) start ;;
  stop) stop ;;
  host) echo "$DOCKER_HOST" ;;
  *) fail 'usage: docker.sh start | stop | host' ;;
esac
