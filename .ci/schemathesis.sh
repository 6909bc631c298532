#!/usr/bin/env bash
# Runs Schemathesis against the API of npm start: every answer conforms to /openapi.json, none is a 5xx, and every
# operation succeeds at least once. MILLRACE_SCHEMATHESIS_EXAMPLES=700 sends about 20,000 requests. The seed is fixed,
# so that a failure comes from the change; MILLRACE_SCHEMATHESIS_SEED sets another one. One worker, since several
# workers break Hypothesis on Python 3.11.
set -euo pipefail
. "$(dirname "$0")/with-stack.sh"

version=4.32.5
examples=${MILLRACE_SCHEMATHESIS_EXAMPLES:-40}
seed=${MILLRACE_SCHEMATHESIS_SEED:-1}
python_venv "schemathesis-$version" "schemathesis==$version"
start_stack

# Inserts rows for every operation that lists, shows, retries, cancels, deletes or redrives, with the small ids that
# Schemathesis uses most.
node "$root/cli/millrace.js" sql "
  insert into millrace.jobs_live (job_type, status, attempts, max_attempts, next_retry_at, last_error)
    select 'send_reminder', 'failed', 1, 5, now() + interval '1 day', 'Error: no' from generate_series(1, 100);
  insert into millrace.dead_letters (raw_body, last_error, fingerprint)
    select '{{', 'unreadable', md5('unreadable') from generate_series(1, 60);
  with job as (
    insert into millrace.jobs_live (job_type, status, attempts, max_attempts, claim_no, last_error)
      select 'send_reminder', 'dead_letter', 1, 1, 1, 'Error: no ' || n % 3 from generate_series(1, 400) n returning *)
  insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, fingerprint)
    select id, claim_no, job_type, '', last_error, md5(last_error) from job;
  insert into millrace.operations (kind, filter, rate_per_second)
    select 'redrive', '{\"job_types\": [\"make_thumbnail\"]}', 0.0001 from generate_series(1, 100);
  insert into millrace.audit_log (action, job_id) select 'retry', n from generate_series(1, 200) n;
  select count(millrace.create_schedule(one || two, 'send_reminder', cron => '0 0 1 1 *'))
    from regexp_split_to_table('abcdefghijklmnopqrstuvwxyz', '') one,
         regexp_split_to_table('|a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s|t|u|v|w|x|y|z|0|1|2|3|4|5|6|7|8|9|_|-', '[|]') two
    " >/dev/null

checks=not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance
result=0
"$venv/bin/schemathesis" run "$api/openapi.json" --workers 1 --continue-on-failure --no-color \
  --seed "$seed" --max-examples "$examples" --checks "$checks,response_schema_conformance,unsupported_method" || result=$?
curl -sSf "$api/openapi.json" -o "$work/openapi.json"
node "$root/.ci/count-answers.js" "$work/out" "$work/openapi.json" || result=$?
exit "$result"
