#!/usr/bin/env bash
# Schemathesis against the API of npm start: whatever it makes of the contract, nothing is answered that the contract
# does not tell of, and nothing with 5xx. MILLRACE_SCHEMATHESIS_EXAMPLES=700 makes some 20,000 requests of it.
set -euo pipefail
. "$(dirname "$0")/with-stack.sh"

version=4.32.5
examples=${MILLRACE_SCHEMATHESIS_EXAMPLES:-40}
python_venv "schemathesis-$version" "schemathesis==$version"
start_stack

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
