import * as z from 'zod';
import { groupDeadLetters } from '../../core/jobs/dead-letters-groups.ts';
import { listedDocument, type PinnedFilter } from '../../core/jobs/dead-letters-list.ts';
import { pageDeadLetters } from '../../core/jobs/page-dead-letters.ts';
import { snakeCase } from '../../core/json-document.ts';
import { pageDocument, startOf } from '../paging.ts';
import { defineRoute } from '../route.ts';
import { Id, JobTypeName, PageQuery, pageOf, RoutingKeyName, Time, Words } from '../schemas.ts';

const TAG = 'Dead letters';

/** Which open dead letters are meant: those that match every part given. */
export const DEAD_LETTER_FILTER = {
  job_type: z.array(JobTypeName).optional().meta({ description: 'Any of these.' }),
  routing_key: RoutingKeyName.optional(),
  id: z.array(Id).max(1000).optional().meta({ description: 'Of any of these jobs.' }),
  since: Time.optional().meta({ description: 'Died then or later.' }),
  error: Words.optional().meta({ description: 'A part of the error, whatever the case.' }),
  group: z
    .string()
    .regex(/^[0-9a-f]{1,64}$/, 'expected the beginning of a fingerprint')
    .optional()
    .meta({ description: 'The beginning of a fingerprint: one kind of error.' }),
};

const Filter = z.object(DEAD_LETTER_FILTER);

export function toDeadLetterFilter({ job_type, routing_key, id, since, error, group }: z.output<typeof Filter>) {
  const from = since === undefined ? undefined : new Date(since);
  const filter: PinnedFilter = { jobTypes: job_type, routingKey: routing_key, jobIds: id, since: from, error, group };
  return filter;
}

const DeadLetter = z
  .object({
    dead_letter_id: z.string(),
    job_id: z.string().nullable().meta({ description: "Null for a message that is nobody's job." }),
    job_type: z.string().nullable(),
    routing_key: z.string().nullable(),
    attempts: z.number().int().nullable(),
    max_attempts: z.number().int().nullable(),
    last_error: z.string().nullable(),
    fingerprint: z.string().nullable(),
    died_at: z.iso.datetime(),
    first_seen_at: z.iso.datetime().nullable().meta({ description: 'In the dead-letter queue.' }),
    last_seen_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'DeadLetter' });

export const listDeadLetters = defineRoute({
  method: 'get',
  path: '/admin/dlq',
  operation: 'listDeadLetters',
  tag: TAG,
  summary: 'List what is dead, the newest first',
  scope: ['jobs:read'],
  query: PageQuery.extend(DEAD_LETTER_FILTER),
  answers: { 200: { description: 'A page.', schema: pageOf(DeadLetter) } },
  run: async ({ query, db }) => {
    const { limit, cursor, page, ...question } = query;
    const start = startOf({ limit, cursor, page }, question);
    const { deadLetters, next } = await pageDeadLetters(db, toDeadLetterFilter(question), start);
    return { status: 200, body: pageDocument(deadLetters.map(listedDocument), next, question) };
  },
});

const Group = z
  .object({
    fingerprint: z.string().nullable(),
    jobs: z.number().int(),
    handlers: z.array(z.string()),
    last_error: z.string().nullable().meta({ description: 'Of the newest.' }),
    first_died_at: z.iso.datetime(),
    last_died_at: z.iso.datetime(),
  })
  .meta({ id: 'DeadLetterGroup' });
const Groups = z.object({
  items: z.array(Group),
  total: z.number().int().meta({ description: 'Dead letters in all groups.' }),
  groups: z.number().int(),
  has_more: z.boolean(),
});

export const groupAllDeadLetters = defineRoute({
  method: 'get',
  path: '/admin/dlq/groups',
  operation: 'groupDeadLetters',
  tag: TAG,
  summary: 'Group what is dead by its error, the largest group first',
  scope: ['jobs:read'],
  query: z.strictObject({ limit: PageQuery.shape.limit, ...DEAD_LETTER_FILTER }),
  answers: { 200: { description: 'The largest groups.', schema: Groups } },
  run: async ({ query: { limit, ...question }, db }) => {
    const groups = await groupDeadLetters(db, toDeadLetterFilter(question), limit);
    const { total = 0, groups: count = 0 } = groups[0] ?? {};
    const items = groups.map(({ total: _total, groups: _groups, ...group }) => snakeCase(group));
    return { status: 200, body: { items, total, groups: count, has_more: count > items.length } };
  },
});
