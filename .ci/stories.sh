#!/usr/bin/env bash
# Runs the stories with PgBouncer, without which some of them would be skipped.
set -euo pipefail

.ci/apt-install.sh /usr/sbin/pgbouncer:pgbouncer
MILLRACE_TEST_PGBOUNCER=required npm run stories
