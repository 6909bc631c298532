create table if not exists jokes (
  id integer primary key,
  text text not null,
  fetched_at timestamptz not null default now()
);
grant select, insert, update on jokes to millrace_runtime;
