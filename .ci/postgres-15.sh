#!/usr/bin/env bash
# The database suite on the oldest Postgres that is supported, Debian's own.
set -euo pipefail

.ci/apt-install.sh /usr/lib/postgresql/15/bin/postgres:postgresql-15
MILLRACE_TEST_POSTGRES=15 vitest run --project database --project process test/core test/migrations
