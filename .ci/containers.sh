#!/usr/bin/env bash
# The database suite through testcontainers, on an engine and an image made here: no image is pulled.
set -euo pipefail

trap '.ci/docker.sh stop' EXIT
.ci/docker.sh start
DOCKER_HOST=$(.ci/docker.sh host)
export DOCKER_HOST
.ci/postgres-image.sh

# Ryuk is an image too; and inside a container testcontainers would look for ports at the bridge, not on loopback.
export TESTCONTAINERS_RYUK_DISABLED=true TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1
MILLRACE_TEST_IMAGE=postgres:18-local npm run containers
