import * as z from 'zod';
import type { Scope } from '../../core/access/scopes.ts';
import { messageOf } from '../../core/failure.ts';
import { isEveryJob, type PinnedJobFilter } from '../../core/look/job-filter.ts';
import { ACTIONS } from '../../core/operations/operation.ts';
import type { OperationPlan } from '../../core/operations/start-operation.ts';
import type { Queryable } from '../../core/postgres/database.ts';
import { errorCode } from '../../core/postgres/statement-errors.ts';
import { forbidden } from '../authenticate.ts';
import type { Caller } from '../caller.ts';
import { invalidBody } from '../problem.ts';
import { Time, Words, wholeNumber } from '../schemas.ts';
import { readGroup } from './dead-letters.ts';
import { JOB_FILTER, refuseEmptyRanges, toJobFilter } from './job-filter.ts';

export const Rate = z
  .number('expected jobs per second, 0.00001 to 10000')
  .min(0.000_01)
  .max(10_000)
  .optional()
  .meta({ description: 'Jobs per second. Default: no limit.' });

/** The body of a request for an operation. */
export const NewOperation = z
  .strictObject({
    action: z.enum(ACTIONS).meta({ description: 'delete requires the scope jobs:delete.' }),
    ...JOB_FILTER,
    all: z
      .boolean()
      .optional()
      .meta({ description: 'Selects every job that the action can change, without a filter.' }),
    limit: wholeNumber(1, 1_000_000_000).optional().meta({ description: 'The maximum number of jobs to change.' }),
    rate: Rate,
    reason: Words.optional().meta({ description: 'Why; the audit log and the operation keep it.' }),
    as_of: Time.optional().meta({ description: 'as_of of a dry run: later jobs are not touched. Default: now.' }),
    run_at: z
      .string()
      .refine(
        (text) => text === 'now' || Time.safeParse(text).success,
        'expected now or a time such as 2026-11-28T09:30:00Z',
      )
      .optional()
      .meta({ description: 'For reschedule: when the jobs become due, a time or now.' }),
    priority: wholeNumber(0, 9).optional().meta({ description: 'For reschedule.' }),
  })
  .meta({
    id: 'NewOperation',
    examples: [{ action: 'cancel', job_type: ['send_reminder'], reason: 'wrong customer' }],
  });
type Body = z.output<typeof NewOperation>;

/** @throws Problem unless the caller may do this with single jobs. */
export function demandScope(caller: Caller, action: Body['action']): void {
  const required: Scope = action === 'delete' ? 'jobs:delete' : 'jobs:operate';
  if (!caller.scopes.has(required)) throw forbidden(caller, required, `the action ${action}`);
}

/** Returns what to change. @throws Problem that names the part of the body that is refused. */
export async function planOf(db: Queryable, body: Body): Promise<OperationPlan> {
  refuseEmptyRanges('body', body);
  const filter = toJobFilter(body);
  refuseUnclear(filter, body);
  const { group } = filter;
  const whole = group && ((await readGroup(db, group, ['body', '/group'])) ?? group);
  return { action: body.action, filter: { ...filter, group: whole }, limit: body.limit, asOf: body.as_of };
}

function refuseUnclear(filter: PinnedJobFilter, { action, all, run_at, priority }: Body): void {
  const isEmpty = isEveryJob(filter);
  if (isEmpty !== (all === true)) {
    const expected = isEmpty ? 'a filter, or all: true to select every job that the action can change' : undefined;
    throw invalidBody('/all', `send ${expected ?? 'a filter or all: true, not both'}`);
  }
  const changes = run_at !== undefined || priority !== undefined;
  if (changes && action !== 'reschedule') {
    throw invalidBody(run_at === undefined ? '/priority' : '/run_at', 'only the action reschedule accepts it');
  }
  if (!changes && action === 'reschedule') throw invalidBody('/run_at', 'send run_at, priority or both');
}

/** The names of the filter's keys in SQL that differ from those of the API. */
const NAMES: Readonly<Record<string, string>> = { statuses: 'status', job_types: 'job_type' };

/** The code of errors that millrace.start_operation raises about its arguments. */
const INVALID_PARAMETER = '22023';

/** @throws Problem for what the database says about a filter. */
export function refuseFault(error: unknown): never {
  const told = error instanceof RangeError || errorCode(error) === INVALID_PARAMETER ? messageOf(error) : '';
  const [, key = '', detail = ''] = /^(?:start_operation: )?(\w+): (.*)$/s.exec(told) ?? [];
  throw key === '' ? error : invalidBody(`/${NAMES[key] ?? key}`, detail);
}
