import type * as z from 'zod';
import type { Scope } from '../core/access/scopes.ts';

/**
 * The fields of all documents, by the scope that a caller must have to see them. Every caller that may use the
 * operation sees the fields of `any`. A field without an entry is never sent.
 */
export const FIELDS = {
  any: [
    // Jobs: the progress of a job, but not its contents or results.
    ...['id', 'job_id', 'job_type', 'routing_key', 'status', 'priority', 'attempts', 'max_attempts', 'answer'],
    ...[
      'run_at',
      'start_by',
      'next_retry_at',
      'due_at',
      'created_at',
      'updated_at',
      'dispatched_at',
      'started_at',
      'finished_at',
    ],
    ...['died_at', 'lease_expires_at', 'payload_restricted', 'payload_too_large'],
    // Results of the caller's own request: pages, outcomes and invalid parts.
    ...['items', 'next_cursor', 'has_more', 'index', 'errors', 'in', 'pointer', 'detail', 'deduplicated', 'replaced'],
    'inserted',
    ...['more_errors', 'changed', 'claimed', 'sent', 'discarded', 'left', 'matched', 'until_id'],
    // Counts and settings.
    ...['pending', 'dispatched', 'running', 'failed', 'dead_letter', 'counted_at', 'jobs', 'handlers', 'total'],
    ...['movable', 'verdict', 'paused', 'rate_per_second', 'expected', 'done', 'skipped'],
    ...['timeout_seconds', 'concurrency', 'batch_size', 'max_in_flight', 'in_flight', 'paused_at', 'held_until'],
    'deployed_at',
    // Operations.
    ...['kind', 'change', 'examined', 'complete', 'counts', 'as_of'],
    // Schedules: when they enqueue.
    ...['schedule', 'state', 'declared', 'cron', 'every_seconds', 'zone', 'catch_up', 'overlap', 'spread_seconds'],
    'start_by_seconds',
    ...['next_tick_at', 'next_ticks'],
  ],
  'jobs:read': [
    ...[
      'unique_key',
      'group_key',
      'last_error',
      'progress',
      'waiting',
      'claim_no',
      'fingerprint',
      'hold_reason',
      'filter',
    ],
    ...['attempt_history', 'attempt', 'outcome', 'error_name', 'error_message', 'error_stacktrace', 'delay_seconds'],
    ...['more_attempts', 'request_id', 'requested_by', 'dead_letter_id'],
    ...['first_died_at', 'last_died_at', 'first_seen_at', 'last_seen_at'],
    ...['message_id', 'message_expires_at', 'queue_name', 'queue_url', 'dead_letter_queue_url', 'function_name'],
    ...['groups', 'samples', 'moved_jobs', 'handler', 'queue', 'depth', 'dead', 'reason', 'by_status', 'by_job_type'],
    ...['oldest_due', 'oldest_due_seconds', 'throughput', 'last_5_minutes', 'last_hour'],
    ...['dispatcher_last_round_at', 'fault', 'last_tick_at', 'last_job_id', 'last_job_status'],
    ...['step', 'times', 'series', 'totals', 'points'],
  ],
  'payload:read': ['payload', 'result', 'raw_body'],
  'audit:read': ['at', 'actor', 'action', 'details'],
  'keys:admin': ['name', 'scopes', 'secret', 'expires_at', 'revoked_at', 'last_used_at', 'made_by'],
} as const satisfies Partial<Record<Scope | 'any', readonly string[]>>;

/** Fields whose members are values instead of fields of this table. They are sent or omitted as a whole. */
export const WHOLE: ReadonlySet<string> = new Set([
  ...['payload', 'result', 'progress', 'details', 'filter', 'left'],
  ...['by_status', 'by_job_type', 'oldest_due', 'last_5_minutes', 'last_hour', 'totals', 'points'],
]);

type AnyField = (typeof FIELDS.any)[number];
type Readers = Scope | 'any';

/**
 * Members of an audit event's `details`, by the scope that a caller must have besides `audit:read`. Other members
 * require the scope of the field with their name; a member that has neither is never sent.
 */
const AUDITED: ReadonlyMap<string, Readers> = new Map([
  ...['name', 'scopes', 'made_by', 'request_id', 'key', 'door', 'operation', 'dead_letter', 'rate', 'too_large'].map(
    (name) => [name, 'any'] as const,
  ),
  ['error', 'jobs:read'],
]);

const READERS = new Map(
  (Object.entries(FIELDS) as [Readers, readonly string[]][]).flatMap(([readers, names]) =>
    names.map((name) => [name, readers] as const),
  ),
);

/** Returns the document without the fields that a caller with these scopes may not see. */
export function redact(document: unknown, scopes: ReadonlySet<Scope>): unknown {
  if (Array.isArray(document)) return document.map((one) => redact(one, scopes));
  if (!isRecord(document)) return document;
  const seen = Object.entries(document).flatMap(([name, value]): [string, unknown][] => {
    const readers = READERS.get(name);
    if (readers === undefined || (readers !== 'any' && !scopes.has(readers))) return [];
    if (name === 'payload_restricted') return [[name, value === true || !scopes.has('payload:read')]];
    if (name === 'details') return [[name, redactDetails(value, scopes)]];
    if (name === 'filter') return [[name, shownFilter(value, scopes)]];
    return [[name, WHOLE.has(name) ? value : redact(shownKey(name, value, scopes), scopes)]];
  });
  return Object.fromEntries(seen);
}

/** Returns whether a field is a key that `unique_by` made of a payload: a reader can compare its hash with guesses. */
export function isKeyOfPayload(name: string, value: unknown): boolean {
  return name === 'unique_key' && typeof value === 'string' && value.startsWith('payload ');
}

/** Returns a field without the hash of a payload, unless the caller may read payloads. */
function shownKey(name: string, value: unknown, scopes: ReadonlySet<Scope>): unknown {
  return isKeyOfPayload(name, value) && !scopes.has('payload:read') ? 'payload' : value;
}

/** Returns the filter of an operation without the parts that say what is in a payload. */
function shownFilter(filter: unknown, scopes: ReadonlySet<Scope>): unknown {
  if (!isRecord(filter) || scopes.has('payload:read')) return filter;
  const seen = Object.entries(filter).filter(([name, value]) => name !== 'payload' && !isKeyOfPayload(name, value));
  return Object.fromEntries(seen);
}

/** The details of an event can contain the filter of a redrive, and so a part of an error. */
function redactDetails(details: unknown, scopes: ReadonlySet<Scope>): unknown {
  if (!isRecord(details)) return details;
  const seen = Object.entries(details).filter(([name]) => {
    const readers = AUDITED.get(name) ?? READERS.get(name);
    return readers === 'any' || (readers !== undefined && scopes.has(readers));
  });
  return Object.fromEntries(
    seen.map(([name, value]) => [name, name === 'filter' ? shownFilter(value, scopes) : shownKey(name, value, scopes)]),
  );
}

/** Returns whether a value has fields. Times and exact numbers are objects, too, but have no fields. */
function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

type SeenBy<Shape> = {
  [Name in keyof Shape]: Name extends AnyField ? Shape[Name] : z.ZodOptional<Shape[Name] & z.ZodType>;
};

/** Returns the shape of a document from which fields are removed for some callers: these fields are optional. */
export function partlySeen<Shape extends Record<string, z.ZodType>>(shape: Shape): SeenBy<Shape> {
  const parts = Object.entries(shape).map(([name, schema]) => {
    const readers = READERS.get(name);
    if (readers === 'any') return [name, schema];
    const note = `Only for callers with ${readers}.`;
    const { description = note } = schema.meta() ?? {};
    const words = description.endsWith(note) ? description : `${description} ${note}`;
    return [name, schema.optional().meta({ description: words })];
  });
  return Object.fromEntries(parts) as SeenBy<Shape>;
}

/** The member of a filter's metadata that names the scope required to use the filter. */
const REQUIRED_SCOPE = 'x-required-scope';

/**
 * Returns the schema of a filter on a field. Only callers that may see the field may use the filter, because it reveals
 * which rows have a value.
 * @param field the filtered field of the document.
 */
export function filterOn<Schema extends z.ZodType>(field: string, schema: Schema, description?: string) {
  const readers = READERS.get(field) ?? 'any';
  const words = [description, readers === 'any' ? undefined : `Requires ${readers}.`].filter(Boolean).join(' ');
  return schema.optional().meta({
    ...(words !== '' && { description: words }),
    ...(readers !== 'any' && { [REQUIRED_SCOPE]: readers }),
  });
}

/** Returns the scope that this part of a request requires in addition to the scope of its operation. */
export function scopeOfFilter(schema: z.ZodType): Scope | undefined {
  return schema.meta()?.[REQUIRED_SCOPE] as Scope | undefined;
}
