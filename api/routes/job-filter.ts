import * as z from 'zod';
import { GROUP, GROUP_EXPECTED } from '../../core/dead-letters/find-group.ts';
import {
  CONDITION_EXPECTED,
  MOST_CONDITIONS,
  type PinnedJobFilter,
  readCondition,
} from '../../core/look/job-filter.ts';
import { MOST_ELEMENTS } from '../json-body.ts';
import { type Fault, faultAt, invalid, oneFault, refuseReversed } from '../problem.ts';
import { filterOn } from '../redact.ts';
import { JobTypeName, RoutingKeyName, Status, Time, Words, wholeNumber } from '../schemas.ts';

const MOST_ATTEMPTS = 999_999;

const Condition = z
  .string()
  .refine((text) => readCondition(text) !== undefined, `expected ${CONDITION_EXPECTED}`)
  .meta({ description: 'A path, an equals sign and a value.', example: 'customer.id=42' });

/** Selects the jobs that match every given part, in lists and operations. */
export const JOB_FILTER = {
  status: z.array(Status).max(Status.options.length).optional().meta({ description: 'Jobs in any of these statuses.' }),
  job_type: z.array(JobTypeName).max(MOST_ELEMENTS).optional().meta({ description: 'Jobs of any of these types.' }),
  routing_key: RoutingKeyName.optional(),
  unique_key: filterOn('unique_key', Words),
  group_key: filterOn('group_key', Words),
  error: filterOn('last_error', Words, 'Text that the last error contains, case-insensitively.'),
  group: filterOn(
    'fingerprint',
    z.string().regex(GROUP, `expected ${GROUP_EXPECTED}`),
    'The fingerprint of the last error, or at least its first 4 characters.',
  ),
  created_from: Time.optional(),
  created_to: Time.optional(),
  attempts_from: wholeNumber(0, MOST_ATTEMPTS)
    .optional()
    .meta({ description: 'Jobs with this many attempts or more.' }),
  attempts_to: wholeNumber(0, MOST_ATTEMPTS).optional().meta({ description: 'Jobs with this many attempts or fewer.' }),
  payload: filterOn(
    'payload',
    z.array(Condition).min(1).max(MOST_CONDITIONS),
    'Jobs whose payload has all these values, compared as text.',
  ),
};
const Filter = z.object(JOB_FILTER);
type Question = z.output<typeof Filter>;

export function toJobFilter(question: Question): PinnedJobFilter {
  const { status = [], job_type = [], routing_key, unique_key, group_key, error, group, payload } = question;
  const time = (text: string | undefined) => (text === undefined ? undefined : new Date(text));
  return {
    ...{ statuses: status, jobTypes: job_type, routingKey: routing_key, uniqueKey: unique_key, groupKey: group_key },
    ...{ error, group, payload: payload?.flatMap((text) => readCondition(text) ?? []) },
    ...{ createdFrom: time(question.created_from), createdTo: time(question.created_to) },
    ...{ attemptsFrom: question.attempts_from, attemptsTo: question.attempts_to },
  };
}

/** @throws Problem that names both ends of a range if no job can be between them. */
export function refuseEmptyRanges(place: Fault['in'], question: Question): void {
  const { created_from, created_to, attempts_from: least, attempts_to: most } = question;
  refuseReversed(place, { created_from, created_to });
  if (least === undefined || most === undefined || least <= most) return;
  throw invalid(oneFault(faultAt(place, '/attempts_to', `${most} is less than attempts_from, ${least}`)));
}
