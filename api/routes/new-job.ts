import * as z from 'zod';
import { DURATION } from '../../core/duration.ts';
import { ALL_KEYS, checkOptions, type NewJob } from '../../core/enqueue/enqueue-options.ts';
import { PayloadInvalid, SettingError } from '../../core/errors.ts';
import { TARGET } from '../../core/handler/check-definition.ts';
import { type HandlerAddress, handlerName, LONGEST_NAME, toAddress } from '../../core/handler/naming.ts';
import { checkPayloadText } from '../../core/handler/payload.ts';
import { checkPayloadForAll, type NamedSchema } from '../../core/handler/payload-for-all.ts';
import { jsonPointer } from '../../core/json.ts';
import type { JsonBody } from '../json-body.ts';
import { type Fault, type Faults, faultAt, oneFault, Problem } from '../problem.ts';
import { DurationText, JobTypeName, RoutingKeyName, Time, Words, wholeNumber } from '../schemas.ts';
import type { KnownHandlers } from './known-handlers.ts';
import { UNIQUE } from './unique-members.ts';

const HandlerName = z
  .string()
  .regex(TARGET, 'expected the name of a handler, such as report_failure, or an empty string for none')
  .max(LONGEST_NAME, `expected at most ${LONGEST_NAME} characters`);
const Key = Words.meta({ description: '1 to 500 characters.' });

const EXAMPLE = {
  job_type: 'send_reminder',
  payload: { to: 'ada@example.com', subject: 'Tomorrow at nine', text: 'We meet in the library.' },
};

/** The body of a request to enqueue a job. */
export const NewJobBody = z
  .strictObject({
    job_type: JobTypeName,
    payload: z.unknown().optional().meta({ description: "Any JSON that the handler's schema accepts. Default {}." }),
    run_at: Time.optional().meta({ description: 'The earliest time of the first attempt. Default: now.' }),
    delay: z
      .union([z.number().min(0), DurationText], 'expected seconds, or 30s, 5m, 2h, 1d')
      .optional()
      .meta({ description: 'The earliest time of the first attempt, counted from now.' }),
    start_by: z
      .union([Time, z.number().min(0), DurationText], 'expected a time, seconds, or 30s, 5m, 2h, 1d')
      .optional()
      .meta({
        description: 'Latest start of the first attempt: a time, or a duration after the run time. Then it is skipped.',
      }),
    priority: wholeNumber(0, 9).optional().meta({ description: 'Lower values are claimed first. Default 5.' }),
    max_attempts: wholeNumber(1, 1000).optional().meta({ description: "Default: the handler's." }),
    routing_key: RoutingKeyName.optional(),
    ...UNIQUE,
    group_key: Key.optional().meta({
      description: 'Jobs with different group keys share the handler fairly (the SQS message group).',
    }),
    on_dead_letter: HandlerName.optional().meta({
      description: "Handler of the job that is enqueued if this one becomes a dead letter. Default: the handler's.",
    }),
  })
  .refine(({ run_at, delay }) => run_at === undefined || delay === undefined, {
    path: ['delay'],
    error: 'send run_at or delay, not both',
  })
  .meta({ id: 'NewJob', examples: [EXAMPLE] });

const KeyOrAll = z
  .string()
  .regex(
    /^(\*|([a-z][a-z0-9_]*)?)$/,
    'expected *, an empty string, or lower-case letters, digits and _, a letter first',
  )
  .max(60, 'expected at most 60 characters')
  .meta({
    description:
      'With *, one job for each deployed handler of the job type. A request inserts at most 10,000 jobs in all.',
  });

/** One job in the body of a request to enqueue many. */
export const BulkJob = NewJobBody.safeExtend({ routing_key: KeyOrAll.optional() }).meta({
  id: 'BulkJob',
  examples: [EXAMPLE],
});

/**
 * A job that can be inserted, or what is wrong with it. `unknown`: no handler for the job is deployed; `unavailable`:
 * the schema of its handler cannot be loaded.
 */
export type CheckedJob =
  | { readonly kind: 'valid'; readonly job: NewJob }
  | { readonly kind: 'unknown'; readonly fault: Fault }
  | { readonly kind: 'unavailable'; readonly problem: Problem }
  | { readonly kind: 'invalid'; readonly faults: Faults };

/**
 * Checks a job that matches the body's schema as the handler will, every digit of its payload included.
 * @param path the path of the job in the body.
 */
export async function checkNewJob(
  known: KnownHandlers,
  body: z.output<typeof NewJobBody>,
  json: JsonBody,
  path: readonly PropertyKey[],
): Promise<CheckedJob> {
  const address = { jobType: body.job_type, routingKey: body.routing_key ?? '' };
  const place = jsonPointer(path);
  const handlers = handlersOf(known, address);
  if (handlers.length === 0) {
    return { kind: 'unknown', fault: faultAt('body', `${place}/job_type`, unknownDetail(known, address)) };
  }
  try {
    const payload = json.payloadOf(path) ?? '{}';
    await checkForHandlers(known, handlers, payload);
    const job = toNewJob(body, address, payload);
    checkOptions(job, '');
    return { kind: 'valid', job };
  } catch (error) {
    if (error instanceof Problem) return { kind: 'unavailable', problem: error };
    const faults = refusal(error, place);
    if (faults === undefined) throw error;
    return { kind: 'invalid', faults };
  }
}

/** Returns the names of the deployed handlers that get the job. */
function handlersOf({ names, byType }: KnownHandlers, address: HandlerAddress): readonly string[] {
  if (address.routingKey === ALL_KEYS) return byType.get(address.jobType) ?? [];
  const name = handlerName(address);
  return names.has(name) ? [name] : [];
}

function unknownDetail({ names }: KnownHandlers, address: HandlerAddress): string {
  const known = names.size === 0 ? 'no handler is deployed' : `deployed handlers: ${[...names].join(', ')}`;
  if (address.routingKey === ALL_KEYS) {
    const todo = 'deploy one, or name a routing key';
    return `no handler of the job type ${address.jobType} is deployed: ${todo} (${known})`;
  }
  const name = handlerName(address);
  const keyed = [...names].find((one) => one.startsWith(`${name}.`));
  const hint = keyed === undefined ? '' : `; did you mean routing_key ${toAddress(keyed).routingKey}?`;
  return `no handler for ${name} is deployed (${known})${hint}`;
}

/** Checks the payload against the schemas that are known. */
function checkForHandlers({ schemaOf }: KnownHandlers, names: readonly string[], payload: string): Promise<void> {
  const [only = '', ...others] = names;
  if (others.length === 0) return checkPayloadText(payload, schemaOf(only));
  const known = names.flatMap((name): NamedSchema[] => {
    const schema = schemaOf(name);
    return schema === undefined ? [] : [[name, schema]];
  });
  return checkPayloadForAll(payload, known);
}

function toNewJob(
  body: z.output<typeof NewJobBody>,
  address: { jobType: string; routingKey: string },
  payload: string,
): NewJob {
  return {
    ...address,
    payload,
    runAt: body.run_at === undefined ? undefined : new Date(body.run_at),
    delay: body.delay,
    startBy:
      typeof body.start_by === 'string' && !DURATION.test(body.start_by) ? new Date(body.start_by) : body.start_by,
    priority: body.priority,
    maxAttempts: body.max_attempts,
    ...{ uniqueKey: body.unique_key, uniqueBy: body.unique_by, uniqueFor: body.unique_for },
    ...{ uniqueUntil: body.unique_until, onConflict: body.on_conflict },
    groupKey: body.group_key,
    onDeadLetter: body.on_dead_letter,
  };
}

/** Returns the engine's refusal with pointers into the body; undefined for any other error. */
export function refusal(error: unknown, place: string): Faults | undefined {
  if (error instanceof PayloadInvalid) {
    const shown = error.faults.map(({ field, message }) => faultAt('body', `${place}/payload${field}`, message));
    return { shown, total: shown.length + error.more };
  }
  if (error instanceof SettingError) {
    const detail = error.message.slice(error.field.length + 2);
    const inWords = detail.replace(/\b(runAt|uniqueKey|uniqueBy)\b/g, underscored);
    return oneFault(faultAt('body', `${place}/${underscored(error.field)}`, inWords));
  }
  return undefined;
}

function underscored(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
