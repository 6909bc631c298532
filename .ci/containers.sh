#!/usr/bin/env bash
# Runs the database suite with testcontainers, on a Docker engine and an image made here: pulls no image.
set -euo pipefail
export PATH=$PWD/node_modules/.bin:$PATH

npm ci --prefix test/containers --no-audit --no-fund
tsc -p test/containers/tsconfig.json

trap '.ci/docker.sh stop' EXIT
.ci/docker.sh start
DOCKER_HOST=$(.ci/docker.sh host)
export DOCKER_HOST
.ci/postgres-image.sh

# Ryuk would be another image. Inside a container, testcontainers would use the bridge address instead of loopback.
export TESTCONTAINERS_RYUK_DISABLED=true TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1
MILLRACE_TEST_IMAGE=postgres:18-local npm run containers
