import { RegistryError } from '../errors.ts';
import type { DefinitionData } from '../handler/definition.ts';
import { readSchedule, type ScheduleSpec } from '../handler/schedule.ts';
import type { Queryable } from '../postgres/database.ts';

// A schedule that was created at run time has no row in `written`: a deployment neither changes nor removes it. A
// declared one keeps its pause, also if it was removed meanwhile. If its times change, its ticks begin now: none of the
// new times is caught up.
const REGISTER_SCHEDULES = `
  with input as materialized (
    select * from jsonb_to_recordset($1::jsonb) as i(schedule text, "jobType" text, "routingKey" text, payload text,
      "tickKey" text, priority integer, "maxAttempts" integer, "uniqueKey" text, "groupKey" text, cron text,
      "everySeconds" integer, zone text, "catchUp" text, overlap text, "spreadSeconds" integer,
      "startBySeconds" integer)
  ), before as materialized (
    select s.* from millrace.schedules s where s.declared
  ), written as (
    insert into millrace.schedules as s (name, declared, job_type, routing_key, payload, tick_key, priority,
        max_attempts, unique_key, group_key, cron, every_seconds, zone, catch_up, overlap, spread_seconds,
        start_by_seconds, paused_at)
      select schedule, true, "jobType", "routingKey", payload::jsonb, "tickKey", priority, "maxAttempts", "uniqueKey",
             "groupKey", cron, "everySeconds", zone, "catchUp", overlap, "spreadSeconds", "startBySeconds", r.paused_at
        from input left join millrace.removed_schedules r on r.name = schedule order by schedule
      on conflict (name) do update set
        job_type = excluded.job_type, routing_key = excluded.routing_key, payload = excluded.payload,
        tick_key = excluded.tick_key, priority = excluded.priority, max_attempts = excluded.max_attempts,
        unique_key = excluded.unique_key, group_key = excluded.group_key, cron = excluded.cron,
        every_seconds = excluded.every_seconds, zone = excluded.zone, catch_up = excluded.catch_up,
        overlap = excluded.overlap, spread_seconds = excluded.spread_seconds,
        start_by_seconds = excluded.start_by_seconds, fault = null, failed_at = null,
        queued_tick_at = case when excluded.overlap = 'queue-one' then s.queued_tick_at end,
        since = case when s.fault is not null or (s.cron, s.every_seconds, s.zone)
          is distinct from (excluded.cron, excluded.every_seconds, excluded.zone) then millrace.clock()
          else s.since end,
        next_tick_at = case when s.fault is not null or (s.cron, s.every_seconds, s.zone)
          is distinct from (excluded.cron, excluded.every_seconds, excluded.zone) then '-infinity'
          else s.next_tick_at end,
        version = s.version + 1
        where s.declared
      returning s.name, s.cron, s.every_seconds, s.zone
  ), removed as (
    delete from millrace.schedules s
      where s.declared and not $2 and not exists (select from input i where i.schedule = s.name)
      returning s.name, s.paused_at
  ), kept as (
    insert into millrace.removed_schedules (name, paused_at)
      select name, paused_at from removed where paused_at is not null
      on conflict (name) do update set paused_at = excluded.paused_at
  ), returned as (
    delete from millrace.removed_schedules where name in (select schedule from input)
  )
  select 'added' as change, w.name from written w where not exists (select from before b where b.name = w.name)
  union all
  select 'changed', w.name from written w join before b on b.name = w.name
    where (w.cron, w.every_seconds, w.zone) is distinct from (b.cron, b.every_seconds, b.zone)
  union all
  select 'removed', name from removed
  union all
  select 'taken', i.schedule from input i where not exists (select from written w where w.name = i.schedule)
  order by 1, 2`;

/** What a deployment did to a schedule. `changed`: its times did. */
export interface ScheduleChange {
  readonly change: 'added' | 'changed' | 'removed';
  readonly name: string;
}

/** Returns the change as a sentence for the log of a deployment. */
export function changeText({ change, name }: ScheduleChange): string {
  return `${name} was ${change}${change === 'changed' ? ': its ticks begin now' : ''}`;
}

/**
 * Returns the schedules that handlers declare.
 * @throws RegistryError when two handlers declare the same name.
 */
export function declaredSchedules(handlers: readonly DefinitionData[]): ScheduleSpec[] {
  const specs = handlers.flatMap((definition) =>
    Object.entries(definition.schedules ?? {}).map(([name, options]) => readSchedule(name, definition, options)),
  );
  const repeated = specs.find(({ schedule }, index) => specs.findIndex((one) => one.schedule === schedule) < index);
  if (repeated === undefined) return specs;
  throw new RegistryError(`two handlers declare the schedule ${repeated.schedule}: give one of them another name`);
}

/**
 * Makes the declared schedules equal to those of the handlers, and returns what changed.
 * @param isPartial whether `specs` lacks schedules of handlers that are still being read: none is removed then.
 * @throws RegistryError when a schedule of that name was created at run time.
 */
export async function registerSchedules(
  tx: Queryable,
  specs: readonly ScheduleSpec[],
  isPartial: boolean,
): Promise<ScheduleChange[]> {
  type Row = { change: ScheduleChange['change'] | 'taken'; name: string };
  const { rows } = await tx.query<Row>(REGISTER_SCHEDULES, [JSON.stringify(specs), isPartial]);
  refuseTaken(rows.filter(({ change }) => change === 'taken'));
  return rows.filter((row): row is ScheduleChange => row.change !== 'taken');
}

const FIND_TAKEN = `
  select s.name from millrace.schedules s where not s.declared and s.name = any($1::text[]) order by s.name`;

/**
 * Checks before a deployment changes anything what `registerSchedules` would refuse at its end.
 * @throws RegistryError
 */
export async function checkSchedules(db: Queryable, handlers: readonly DefinitionData[]): Promise<void> {
  const names = declaredSchedules(handlers).map(({ schedule }) => schedule);
  refuseTaken((await db.query<{ name: string }>(FIND_TAKEN, [names])).rows);
}

function refuseTaken(taken: readonly { readonly name: string }[]): void {
  if (taken.length === 0) return;
  const names = taken.map(({ name }) => name);
  throw new RegistryError(
    `created at run time, and declared by a handler: ${names.join(', ')}. Delete it (npx millrace schedules delete ` +
      `${names[0]}), or declare it under another name`,
  );
}
