#!/usr/bin/env bash
# Runs the stories with PgBouncer, without which some of them would be skipped, and with what checks the packages, which
# is installed apart from the product.
set -euo pipefail

.ci/apt-install.sh /usr/sbin/pgbouncer:pgbouncer
npm ci --prefix test/packages --no-audit --no-fund
MILLRACE_TEST_PGBOUNCER=required npm run stories
