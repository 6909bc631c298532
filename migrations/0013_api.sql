-- What the HTTP API stores: keys and responses to idempotent requests.

-- Secrets are stored as SHA-256 only. Revoked and expired keys are kept for 400 days, and as long as a key that they
-- created.
create table millrace.api_keys (
  id bigint generated always as identity primary key,
  -- Without control characters: audit events contain the name, and terminals print it.
  name text not null check (name ~ '^[A-Za-z0-9_.:@-]([A-Za-z0-9_ .:@-]{0,98}[A-Za-z0-9_.:@-])?$'),
  secret_sha256 text not null unique,
  scopes text[] not null,
  created_at timestamptz not null default millrace.clock(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  -- Id of the key that created this key; null if the creator had no key.
  made_by bigint
);
create index api_keys_made_by on millrace.api_keys (made_by) where made_by is not null;

-- The responses to requests with an Idempotency-Key. Kept for 24 hours.
create table millrace.idempotency_keys (
  caller text not null,
  key text not null,
  request_sha256 text not null,
  response jsonb not null,
  created_at timestamptz not null default millrace.clock(),
  primary key (caller, key)
);
create index idempotency_keys_created on millrace.idempotency_keys (created_at);
grant select, insert, update, delete on millrace.api_keys, millrace.idempotency_keys to millrace_runtime;
