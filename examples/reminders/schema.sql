create table if not exists reminders (
  id bigint generated always as identity primary key,
  recipient text not null,
  subject text not null,
  due_at timestamptz not null,
  -- When POST /reminders/run enqueued the job that sends it.
  enqueued_at timestamptz,
  -- Set by a successful job, and by nothing else.
  sent_at timestamptz
);
create index if not exists due_reminders on reminders (due_at) where enqueued_at is null;

-- Handlers connect with this role.
grant select, update on reminders to millrace_runtime;
