-- What the HTTP API needs: whose name stands in the audit log, and short ways to the rare states.

-- Who acts: the login, or whoever the API, which has one login for all its callers, says for this transaction. Nobody
-- without the rights of the runtime can speak in another's name.
create function millrace.actor() returns text
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  select case when pg_has_role(session_user, 'millrace_runtime', 'member')
    then coalesce(nullif(current_setting('millrace.actor', true), ''), session_user) else session_user end
$$;
revoke execute on function millrace.actor() from public;
grant execute on function millrace.actor() to millrace_app, millrace_operator, millrace_runtime;
alter table millrace.audit_log alter column actor set default millrace.actor();
alter table millrace.operations alter column requested_by set default millrace.actor();
alter table millrace.cancel_requests alter column requested_by set default millrace.actor();

-- Lists of what is dead or waits for its next try. The conditions name no column that changes at start: a `status` in
-- one of them would make that update write every index. What lives, is not due and not in flight is dead.
create index jobs_live_dead on millrace.jobs_live (id) where due_at is null and not in_flight;
create index jobs_live_failed on millrace.jobs_live (id) where next_retry_at is not null;
