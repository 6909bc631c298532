-- What the HTTP API needs: to know how far the schema is, and short ways to the rare states.

grant select on millrace.migrations to millrace_runtime;

-- Lists of what is dead or waits for its next try. The conditions name no column that changes at start: a `status` in
-- one of them would make that update write every index. What lives, is not due and not in flight is dead.
create index jobs_live_dead on millrace.jobs_live (id) where due_at is null and not in_flight;
create index jobs_live_failed on millrace.jobs_live (id) where next_retry_at is not null;
