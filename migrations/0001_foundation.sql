-- The clock, the actor, the audit log and the identity of this installation. Read the files in their order: handlers,
-- jobs, history, numbers; then how a job is enqueued (0006), claimed (0007), started and settled (0008), how it ends
-- (0009), how it is cancelled (0010) and redriven (0011). Every migration runs as millrace_owner, in one transaction;
-- core/postgres/migrate.ts creates the roles and the schema.

revoke all on schema millrace from public;
grant usage on schema millrace to millrace_app, millrace_operator, millrace_runtime;

-- The only clock: every statement reads the time here, so that a test can replace one function.
create function millrace.clock() returns timestamptz
  language sql stable parallel safe
  return statement_timestamp();
revoke execute on function millrace.clock() from public;
grant execute on function millrace.clock() to millrace_app, millrace_operator, millrace_runtime;

-- The actor in audit events: the login, or the caller that the API names for this transaction (the API has one login
-- for all its callers). A login without the runtime role cannot name another actor.
create function millrace.actor() returns text
  language sql stable
  set search_path = pg_catalog, pg_temp
  as $$
  select case when pg_has_role(session_user, 'millrace_runtime', 'member')
    then coalesce(nullif(current_setting('millrace.actor', true), ''), session_user) else session_user end
$$;
revoke execute on function millrace.actor() from public;
grant execute on function millrace.actor() to millrace_app, millrace_operator, millrace_runtime;

-- What people and API callers did. Kept for 400 days.
create table millrace.audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null default millrace.clock(),
  actor text not null default millrace.actor(),
  action text not null,
  job_id bigint,
  details jsonb not null default '{}'
);
create index audit_log_job on millrace.audit_log (job_id);
create index audit_log_at on millrace.audit_log (at);

grant select, insert, update, delete on millrace.audit_log to millrace_runtime;
grant select on millrace.audit_log to millrace_operator;

-- `epoch` is in every message. After a restore or a clone, renew_epoch() draws a new one, so that the database does not
-- accept messages that its predecessor sent. `stage`, `account` and `region` are those of the first deployment; another
-- one cannot register handlers, because a registration replaces all of them. A stack on one machine has no account and
-- no region.
create table millrace.installation (
  only_row boolean primary key default true check (only_row),
  epoch text not null default substr(md5(random()::text || clock_timestamp()::text), 1, 12),
  stage text check (stage <> ''),
  account text check (account <> ''),
  region text check (region <> ''),
  created_at timestamptz not null default millrace.clock()
);
insert into millrace.installation default values;
grant select on millrace.installation to millrace_runtime, millrace_operator;

-- Call it after a restore or a clone: the handlers then reject every message that was sent before, and the next
-- deployment assigns the database to its own stage.
create function millrace.renew_epoch() returns text
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  as $$
declare
  renewed text;
  behind record;
begin
  update millrace.installation
    set epoch = substr(md5(random()::text || clock_timestamp()::text), 1, 12),
        stage = null, account = null, region = null
    returning epoch into renewed;
  update millrace.handler_starts set lowest_claim = 0;
  -- A copy by logical replication, or of the data alone, has sequences that begin again: ids would repeat, and rescue
  -- would not find the jobs of claims with lower numbers than those that have started.
  for behind in
    select pg_get_serial_sequence(a.attrelid::regclass::text, a.attname) as sequence,
           format('select max(%I) from %s', a.attname, a.attrelid::regclass) as highest
      from pg_attribute a
      where a.attidentity <> '' and a.attrelid in (
        select c.oid from pg_class c where c.relnamespace = 'millrace'::regnamespace)
    union all
    values ('millrace.job_ids', 'select max(id) from millrace.jobs'),
           ('millrace.dispatches_claim_no_seq', 'select max(claim_no) from millrace.jobs_live'),
           ('millrace.dispatches_claim_no_seq', 'select max(claim_no) from millrace.handler_starts')
  loop
    execute format('select setval(%1$L, h.highest) from (%2$s) h(highest), %1$s s where h.highest >= s.last_value',
      behind.sequence, behind.highest);
  end loop;
  raise notice 'the epoch is now %: messages sent earlier belong to another database, and start nothing', renewed;
  return renewed;
end $$;

-- Assigns the database to the stage of an account and region, unless it belongs to one. Returns what it belongs to.
create function millrace.assign_stage(stage text, account text default null, region text default null)
  returns setof millrace.installation
  language sql security definer set search_path = pg_catalog, pg_temp
  as $$
  update millrace.installation i
    set stage = assign_stage.stage, account = assign_stage.account, region = assign_stage.region
    where i.stage is null
       or (i.stage = assign_stage.stage and i.account is null and assign_stage.account is not null);
  select i.* from millrace.installation i;
$$;

revoke execute on function millrace.renew_epoch(), millrace.assign_stage(text, text, text) from public;
grant execute on function millrace.renew_epoch(), millrace.assign_stage(text, text, text) to millrace_runtime;

grant select on millrace.migrations to millrace_runtime, millrace_operator;
