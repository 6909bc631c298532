#!/usr/bin/env bash
# Runs the database suite on the oldest supported Postgres, which Debian provides.
set -euo pipefail

.ci/apt-install.sh /usr/lib/postgresql/15/bin/postgres:postgresql-15
export MILLRACE_TEST_POSTGRES=15
vitest run --project database --project process test/core test/migrations
# The slow tests whose statements Postgres plans.
vitest run --config test/support/stories.config.ts --project database test/core test/migrations
