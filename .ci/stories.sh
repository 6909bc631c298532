#!/usr/bin/env bash
# Runs the stories with everything that some of them need and would be skipped without.
set -euo pipefail

.ci/apt-install.sh /usr/sbin/pgbouncer:pgbouncer
MILLRACE_TEST_PGBOUNCER=required npm run stories
