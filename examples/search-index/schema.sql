create table if not exists records (
  id bigint generated always as identity primary key,
  -- Greater after each update.
  version integer not null default 1,
  title text not null,
  body text not null
);

create table if not exists keyword_index (
  record_id bigint primary key,
  version integer not null,
  -- How often the row was written.
  writes integer not null default 1,
  document tsvector not null
);
create index if not exists keyword_documents on keyword_index using gin (document);

create table if not exists vector_index (
  record_id bigint primary key,
  version integer not null,
  writes integer not null default 1,
  -- Of length 1.
  embedding real[] not null
);

-- The cosine of two vectors of length 1.
create or replace function cosine(a real[], b real[]) returns double precision
  language sql immutable parallel safe
  return (select sum(x * y) from unnest(a, b) as pairs (x, y));

-- Handlers connect with this role.
grant select on records to millrace_runtime;
grant select, insert, update, delete on keyword_index, vector_index to millrace_runtime;
