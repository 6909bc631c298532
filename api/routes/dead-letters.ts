import * as z from 'zod';
import { chooseGroup, findGroups, GROUP, GROUP_EXPECTED } from '../../core/dead-letters/find-group.ts';
import { groupDeadLetters, showGroup } from '../../core/dead-letters/group-dead-letters.ts';
import { listedDocument, type PinnedFilter } from '../../core/dead-letters/list-dead-letters.ts';
import { pageDeadLetters } from '../../core/dead-letters/page-dead-letters.ts';
import { showDeadLetter } from '../../core/dead-letters/show-dead-letter.ts';
import { exactJson, snakeCase } from '../../core/json.ts';
import type { Queryable } from '../../core/postgres/database.ts';
import { DeadLetter, DeadLetterDetail, Groups, ShownGroup } from '../documents/documents.ts';
import { MOST_ELEMENTS } from '../json-body.ts';
import { pageDocument, startOf } from '../paging.ts';
import { type Fault, faultAt, invalid, oneFault, Problem, refuseReversed } from '../problem.ts';
import { filterOn } from '../redact.ts';
import { defineRoute } from '../route.ts';
import { Id, IdParams, JobTypeName, PageQuery, pageOf, RoutingKeyName, Time, Words } from '../schemas.ts';

const TAG = 'Dead letters';

/** Selects the open dead letters that match every given part. */
export const DEAD_LETTER_FILTER = {
  job_type: z
    .array(JobTypeName)
    .max(MOST_ELEMENTS)
    .optional()
    .meta({ description: 'Dead letters of any of these job types.' }),
  routing_key: RoutingKeyName.optional(),
  id: z.array(Id).max(MOST_ELEMENTS).optional().meta({ description: 'Dead letters of any of these jobs.' }),
  since: Time.optional().meta({ description: 'Dead letters of jobs that died at this time or later.' }),
  until: Time.optional().meta({ description: 'Dead letters of jobs that died at this time or earlier.' }),
  error: filterOn('last_error', Words, 'Text that the error contains, case-insensitively.'),
  group: filterOn(
    'fingerprint',
    z.string().regex(GROUP, `expected ${GROUP_EXPECTED}`),
    'The fingerprint of an error group, or at least its first 4 characters.',
  ),
};

const Filter = z.object(DEAD_LETTER_FILTER);

function toDeadLetterFilter(question: z.output<typeof Filter>): PinnedFilter {
  const { job_type, routing_key, id, since, until, error, group } = question;
  const time = (text: string | undefined) => (text === undefined ? undefined : new Date(text));
  return {
    ...{ jobTypes: job_type, routingKey: routing_key, jobIds: id, error, group },
    ...{ since: time(since), until: time(until) },
  };
}

/**
 * Returns the filter with the whole fingerprint of its group, so that it selects the same group until the end.
 * @throws Problem when more than one group begins with the given characters.
 */
export async function pinDeadLetterFilter(
  db: Queryable,
  question: z.output<typeof Filter>,
  place: Fault['in'],
): Promise<PinnedFilter> {
  refuseReversed(place, { since: question.since, until: question.until });
  const filter = toDeadLetterFilter(question);
  if (filter.group === undefined) return filter;
  return { ...filter, group: (await readGroup(db, filter.group, [place, '/group'])) ?? filter.group };
}

/** Returns the whole fingerprint; undefined without a group. @throws Problem for an ambiguous beginning. */
export async function readGroup(db: Queryable, beginning: string, [place, pointer]: readonly [Fault['in'], string]) {
  const found = chooseGroup(beginning, await findGroups(db, beginning));
  if (found.fingerprint !== undefined || !found.ambiguous) return found.fingerprint;
  throw invalid(oneFault(faultAt(place, pointer, found.fault)));
}

export const listDeadLetters = defineRoute({
  method: 'get',
  path: '/admin/dlq',
  operation: 'listDeadLetters',
  tag: TAG,
  summary: 'List dead letters, newest first',
  scope: ['jobs:read'],
  query: PageQuery.extend(DEAD_LETTER_FILTER),
  answers: { 200: { description: 'A page of dead letters.', schema: pageOf(DeadLetter) } },
  run: async ({ query, db }) => {
    const { limit, cursor, page, ...question } = query;
    const start = startOf({ limit, cursor, page }, question);
    const filter = await pinDeadLetterFilter(db, question, 'query');
    const { deadLetters, next } = await pageDeadLetters(db, filter, start);
    return { status: 200, body: pageDocument(deadLetters.map(listedDocument), next, question) };
  },
});

export const getDeadLetter = defineRoute({
  method: 'get',
  path: '/admin/dlq/{id}',
  operation: 'showDeadLetter',
  tag: TAG,
  summary: 'Show an open dead letter by its dead_letter_id',
  scope: ['jobs:read'],
  params: IdParams,
  answers: {
    200: { description: 'The dead letter.', schema: DeadLetterDetail },
    404: { description: 'No open dead letter has this id.' },
  },
  run: async ({ params, db }) => {
    const letter = await showDeadLetter(db, { id: params.id });
    if (letter === undefined) throw new Problem('not-found', 'no open dead letter has this id');
    const { payload, rawBody, ...rest } = letter;
    const body = {
      ...listedDocument(rest),
      payload: payload === null ? null : exactJson(payload),
      raw_body: rawBody,
      payload_restricted: false,
      ...(payload === null && letter.jobId !== null && { payload_too_large: true }),
    };
    return { status: 200, body };
  },
});

export const groupAllDeadLetters = defineRoute({
  method: 'get',
  path: '/admin/dlq/groups',
  operation: 'groupDeadLetters',
  tag: TAG,
  summary: 'Group dead letters by error, largest group first',
  scope: ['jobs:read'],
  query: z.strictObject({ limit: PageQuery.shape.limit, ...DEAD_LETTER_FILTER }),
  answers: { 200: { description: 'The largest groups.', schema: Groups } },
  run: async ({ query: { limit, ...question }, db }) => {
    refuseReversed('query', { since: question.since, until: question.until });
    const groups = await groupDeadLetters(db, toDeadLetterFilter(question), limit);
    const { total = 0, groups: count = 0 } = groups[0] ?? {};
    const items = groups.map(({ total: _total, groups: _groups, ...group }) => snakeCase(group));
    return { status: 200, body: { items, total, groups: count, has_more: count > items.length } };
  },
});

const GroupParams = z.strictObject({
  fingerprint: z
    .string()
    .regex(GROUP, `expected ${GROUP_EXPECTED}`)
    .meta({ description: 'The fingerprint of a group, or at least its first 4 characters.', example: '574d6bad' }),
});

export const getGroup = defineRoute({
  method: 'get',
  path: '/admin/dlq/groups/{fingerprint}',
  operation: 'showDeadLetterGroup',
  tag: TAG,
  summary: 'Show an error group with its stack and some of its jobs',
  scope: ['jobs:read'],
  params: GroupParams,
  answers: {
    200: { description: 'The group.', schema: ShownGroup },
    404: { description: 'No open dead letter has this fingerprint.' },
  },
  run: async ({ params, db }) => {
    const fingerprint = await readGroup(db, params.fingerprint, ['path', '/fingerprint']);
    const shown = fingerprint === undefined ? undefined : await showGroup(db, fingerprint);
    if (shown === undefined) throw new Problem('not-found', 'no open dead letter has this fingerprint');
    return { status: 200, body: snakeCase(shown) };
  },
});
