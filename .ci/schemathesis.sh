#!/usr/bin/env bash
# Schemathesis against the API of npm start: whatever it makes of the contract, nothing is answered that the contract
# does not tell of, and nothing with 5xx. MILLRACE_SCHEMATHESIS_EXAMPLES=700 makes some 20,000 requests of it.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export PATH=$root/node_modules/.bin:$PATH NO_COLOR=1

version=4.32.5
examples=${MILLRACE_SCHEMATHESIS_EXAMPLES:-40}
venv=${XDG_CACHE_HOME:-$HOME/.cache}/millrace-ci/schemathesis-$version
work=$(mktemp -d)
stack=
finish() {
  if [ -n "$stack" ]; then
    kill -INT "$stack" 2>/dev/null || true
    wait "$stack" || true
  fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ ! -e "$venv/complete" ]; then
  python3 -c 'import ensurepip' 2>/dev/null || .ci/apt-install.sh ensurepip:python3-venv
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check "schemathesis==$version"
  touch "$venv/complete"
fi

chmod 755 "$work"
mkdir "$work/functions"
cp -R functions/. "$work/functions"
ln -s "$root/core" "$root/node_modules" "$work/"
cd "$work"
node "$root/cli/millrace.js" up >"$work/out" 2>&1 &
stack=$!
for _ in $(seq 600); do
  if grep -q 'Ctrl-C lets running jobs finish' "$work/out" || ! kill -0 "$stack" 2>/dev/null; then break; fi
  sleep 0.1
done
api=$(node -p 'JSON.parse(fs.readFileSync(".millrace/dev.json")).apiUrl') || {
  cat "$work/out" >&2
  exit 1
}

# Something of everything that can be listed, shown, retried, cancelled, deleted and redriven.
node "$root/cli/millrace.js" sql "
  insert into millrace.jobs (job_type, run_at)
    select 'send_reminder', now() + interval '1 day' from generate_series(1, 200);
  with job as (
    insert into millrace.jobs_live (job_type, status, attempts, max_attempts, claim_no, last_error)
      select 'send_reminder', 'dead_letter', 1, 1, 1, 'Error: no ' || n % 3 from generate_series(1, 200) n returning *)
  insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, fingerprint)
    select id, claim_no, job_type, '', last_error, md5(last_error) from job;
  insert into millrace.audit_log (action, job_id) select 'retry', n from generate_series(1, 200) n" >/dev/null

checks=not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance
"$venv/bin/schemathesis" run "$api/openapi.json" --workers 1 --continue-on-failure --no-color \
  --max-examples "$examples" --checks "$checks,response_schema_conformance,unsupported_method"
