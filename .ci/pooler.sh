#!/usr/bin/env bash
# Runs the stories of vanished clients, also through PgBouncer, which must not be missing here.
set -euo pipefail

.ci/apt-install.sh /usr/sbin/pgbouncer:pgbouncer
MILLRACE_TEST_PGBOUNCER=required vitest run --config test/support/stories.config.ts test/core/postgres/vanished-clients
