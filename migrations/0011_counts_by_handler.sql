-- The live jobs as they were counted last, by handler and not by type alone. What was counted before stands without a
-- routing key until the mirror counts anew, a minute later at most.
alter table millrace.job_counts
  add column routing_key text not null default '',
  drop constraint job_counts_pkey,
  add primary key (status, job_type, routing_key);
