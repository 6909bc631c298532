#!/usr/bin/env bash
# Runs a command with a new ElasticMQ, whose address is in ELASTICMQ_URL: `elasticmq.sh <command…>`.
# The server is installed once into the cache folder, listens on loopback, and stops with the command.
set -euo pipefail

version=1.7.1
here=$(cd "$(dirname "$0")" && pwd)
jars=${XDG_CACHE_HOME:-$HOME/.cache}/millrace-ci/elasticmq-$version
work=$(mktemp -d)
server=
finish() {
  if [ -n "$server" ]; then
    # KILL, since it has no data to keep and would wait for long polls whose client is gone.
    kill -KILL "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

install_jars() {
  "$here/apt-install.sh" mvn:maven
  cat >"$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>ci</groupId><artifactId>elasticmq</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.elasticmq</groupId><artifactId>elasticmq-server_2.13</artifactId><version>$version</version>
    </dependency>
  </dependencies>
</project>
POM
  mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$work/jars"
  mkdir -p "$(dirname "$jars")"
  # Two runs may install at the same time: the folder appears complete or not at all.
  mv -T "$work/jars" "$jars" 2>/dev/null || [ -d "$jars" ]
}

start_server() {
  local port
  port=$(node -e 'const s = net.createServer().listen(0, "127.0.0.1", () => (console.log(s.address().port), s.close()))')
  # This file replaces the default settings: without the include, long polls of 20 s end with an error.
  cat >"$work/elasticmq.conf" <<CONF
include classpath("application.conf")
node-address { protocol = http, host = 127.0.0.1, port = $port, context-path = "" }
rest-sqs { enabled = true, bind-port = $port, bind-hostname = "127.0.0.1", sqs-limits = strict }
rest-stats { enabled = false }
aws { region = us-east-1, accountId = 000000000000 }
queues {}
CONF
  java -Xmx512m -XX:+UseSerialGC -Dconfig.file="$work/elasticmq.conf" -cp "$jars/*" org.elasticmq.server.Main \
    >"$work/log" 2>&1 &
  server=$!
  export ELASTICMQ_URL=http://127.0.0.1:$port
}

[ $# -gt 0 ] || { echo 'elasticmq.sh: requires a command to run' >&2; exit 2; }
[ -d "$jars" ] || install_jars
# The jars may come from a cache that is older than this machine.
"$here/apt-install.sh" java:default-jre-headless curl:curl
start_server
for _ in $(seq 300); do
  if curl -fsS -m 2 -o "$work/answer" -d 'Action=ListQueues&Version=2012-11-05' "$ELASTICMQ_URL/" 2>/dev/null; then
    ready=yes
    break
  fi
  kill -0 "$server" 2>/dev/null || break
  sleep 0.1
done
if [ -z "${ready:-}" ]; then
  echo 'elasticmq.sh: ElasticMQ did not start:' >&2
  cat "$work/log" >&2
  exit 1
fi
echo "ElasticMQ $version at $ELASTICMQ_URL"
"$@"
