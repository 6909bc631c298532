import { RegistryError } from '../errors.ts';
import type { DefinitionData } from '../handler/definition.ts';
import { timingOf } from '../handler/timing.ts';
import type { Database } from '../postgres/database.ts';
import {
  endingText,
  type Holder,
  type Patience,
  repeatWhileLocked,
  sessionText,
  waitingForLocks,
} from '../postgres/lock-waits.ts';
import { declaredSchedules, registerSchedules, type ScheduleChange } from './register-schedules.ts';
import { assignStage, type Home } from './stage.ts';

/** A definition with the addresses of its deployed resources. */
export interface Registration {
  readonly definition: DefinitionData;
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
  readonly functionName: string;
}

// The update keeps the pause, the hold and the adaptive limit, which belong to the running system. A handler that
// returns keeps its pause too: a deployment that is rolled back removes handlers and adds them again.
const REGISTER_HANDLERS = `
  with input as (
    select * from jsonb_to_recordset($1::jsonb) as i(job_type text, routing_key text, queue_url text,
      dead_letter_queue_url text, function_name text, timeout_seconds integer, running_lease_seconds integer,
      dispatched_lease_seconds integer, visibility_seconds integer, max_attempts smallint, retry_policy jsonb,
      concurrency integer, batch_size integer, floor integer, cap integer, on_dead_letter text)
  ), written as (
    insert into millrace.handlers as h (job_type, routing_key, queue_url, dead_letter_queue_url, function_name,
        timeout_seconds, running_lease_seconds, dispatched_lease_seconds, visibility_seconds, max_attempts,
        retry_policy, concurrency, batch_size, max_in_flight, max_in_flight_floor, max_in_flight_cap, on_dead_letter,
        paused_at)
      select job_type, routing_key, queue_url, dead_letter_queue_url, function_name, timeout_seconds,
             running_lease_seconds, dispatched_lease_seconds, visibility_seconds, max_attempts, retry_policy,
             concurrency, batch_size, floor, floor, cap, on_dead_letter, r.paused_at
        from input left join millrace.removed_handlers r using (job_type, routing_key) order by job_type, routing_key
      on conflict (job_type, routing_key) do update set
        queue_url = excluded.queue_url, dead_letter_queue_url = excluded.dead_letter_queue_url,
        function_name = excluded.function_name, timeout_seconds = excluded.timeout_seconds,
        running_lease_seconds = excluded.running_lease_seconds,
        dispatched_lease_seconds = excluded.dispatched_lease_seconds,
        visibility_seconds = excluded.visibility_seconds, max_attempts = excluded.max_attempts,
        retry_policy = excluded.retry_policy, concurrency = excluded.concurrency, batch_size = excluded.batch_size,
        max_in_flight_floor = excluded.max_in_flight_floor, max_in_flight_cap = excluded.max_in_flight_cap,
        max_in_flight = greatest(excluded.max_in_flight_floor, least(excluded.max_in_flight_cap, h.max_in_flight)),
        held_until = case when h.queue_url = excluded.queue_url then h.held_until end,
        refusals = case when h.queue_url = excluded.queue_url then h.refusals else 0 end,
        on_dead_letter = excluded.on_dead_letter, deployed_at = millrace.clock()
  ), starts as (
    insert into millrace.handler_starts (job_type, routing_key, claim_no)
      select job_type, routing_key, 0 from input
      on conflict do nothing
  ), removed as (
    delete from millrace.handlers h
      where not exists (select from input i where i.job_type = h.job_type and i.routing_key = h.routing_key)
      returning h.job_type, h.routing_key, h.paused_at
  ), returned as (
    delete from millrace.removed_handlers r
      where exists (select from input i where i.job_type = r.job_type and i.routing_key = r.routing_key)
  )
  insert into millrace.removed_handlers (job_type, routing_key, paused_at)
    select job_type, routing_key, paused_at from removed
    on conflict (job_type, routing_key) do update set removed_at = excluded.removed_at, paused_at = excluded.paused_at`;

/** What a registration locks, in this order. `such`: what a session that keeps such a lock has usually done. */
const HANDLERS = {
  tables: ['millrace.installation', 'millrace.handlers', 'millrace.handler_starts', 'millrace.removed_handlers'],
  what: 'the registry',
  such: 'that on a handler that it pauses',
};
const SCHEDULES = {
  tables: ['millrace.schedules'],
  what: 'a declared schedule',
  such: 'one that it creates or pauses',
};

/**
 * The dispatcher claims nothing for the handlers whose rows the transaction has locked, so a wait is short, and a pause
 * follows it. Two minutes in all: a lock that lasts longer belongs to a forgotten transaction.
 */
const PATIENCE: Patience = { waitMs: 300, pauseMs: 1700, tries: 60 };

/** With the stage of the deployment. A database belongs to the stage of its first one. */
export interface Registry extends Home {
  readonly db: Database;
  /** Called with a sentence after each wait for a lock that another session holds. */
  readonly onWaiting?: (reason: string) => void;
  readonly patience?: Patience;
  /** Whether other handlers are still being read: their schedules stay. Default: false. */
  readonly isPartial?: boolean;
}

/**
 * Makes the registry equal to the deployed handlers and their schedules, and returns which schedules changed. Other
 * handlers are removed: their jobs wait, and the dispatcher reports them as unhandled.
 * @throws RegistryError when the database belongs to another stage, a schedule has a name that is in use, or a session
 * keeps a lock for too long; the error names it.
 */
export async function registerHandlers(
  { db, onWaiting, patience = PATIENCE, isPartial = false, ...home }: Registry,
  handlers: readonly Registration[],
): Promise<ScheduleChange[]> {
  const schedules = declaredSchedules(handlers.map(({ definition }) => definition));
  let step = HANDLERS;
  const wait = {
    ...{ patience, tables: () => step.tables },
    onWait: (holder: Holder) => onWaiting?.(`${sessionText(holder)} has a lock on ${step.what}`),
    refuse: (holder: Holder) => refusal(holder, step),
  };
  return repeatWhileLocked(db, wait, (tx) =>
    waitingForLocks(tx, patience, async () => {
      step = HANDLERS;
      await assignStage(tx, home);
      await tx.query(REGISTER_HANDLERS, [JSON.stringify(handlers.map(toRecord))]);
      step = SCHEDULES;
      return registerSchedules(tx, schedules, isPartial);
    }),
  );
}

function refusal(holder: Holder, { what, such }: typeof HANDLERS): RegistryError {
  return new RegistryError(
    `${sessionText(holder)} keeps a lock on ${what}, such as ${such}: commit its transaction, or ` +
      `${endingText(holder)}, then deploy again`,
  );
}

function toRecord({ definition, queueUrl, deadLetterQueueUrl, functionName }: Registration) {
  return {
    ...registryRow(definition),
    queue_url: queueUrl,
    dead_letter_queue_url: deadLetterQueueUrl,
    function_name: functionName,
  };
}

export type RegistryRow = ReturnType<typeof registryRow>;

/** Returns the columns of a definition that do not depend on the stage. */
export function registryRow(definition: DefinitionData) {
  const timing = timingOf(definition);
  const { concurrency, batch, maxInFlight } = definition;
  return {
    job_type: definition.jobType,
    routing_key: definition.routingKey,
    timeout_seconds: definition.timeoutSeconds,
    running_lease_seconds: timing.runningLease,
    dispatched_lease_seconds: timing.dispatchedLease,
    visibility_seconds: timing.visibilityTimeout,
    max_attempts: definition.maxAttempts,
    retry_policy: definition.retry,
    concurrency,
    batch_size: batch.size,
    // Two batches for each concurrent invocation: one that runs and one that waits in SQS.
    floor: Math.min(maxInFlight, 2 * concurrency * batch.size),
    cap: maxInFlight,
    on_dead_letter: definition.onDeadLetter ?? null,
  };
}
