import * as z from 'zod';
import { countDeadLetters, discardSome, discardStray } from '../../core/dead-letters/discard.ts';
import { Discarded, DiscardPreview } from '../documents/documents.ts';
import { readCursor, writeCursor } from '../paging.ts';
import { invalidBody, Problem } from '../problem.ts';
import { defineRoute } from '../route.ts';
import { Id, IdParams } from '../schemas.ts';
import { DEAD_LETTER_FILTER, pinDeadLetterFilter } from './dead-letters.ts';

const TAG = 'Dead letters';

const DiscardBody = z
  .strictObject({
    ...DEAD_LETTER_FILTER,
    all: z.boolean().optional().meta({ description: 'Selects every open dead letter; required without a filter.' }),
    until_id: Id.optional().meta({
      description: 'Newer dead letters stay; send until_id of a preview. Default: the newest.',
    }),
    cursor: z.string().max(200).optional().meta({ description: 'next_cursor of a response to the same body.' }),
  })
  .meta({ id: 'NewDiscard', examples: [{ job_type: ['send_reminder'], error: 'no such user' }] });

export const discardMany = defineRoute({
  method: 'post',
  path: '/admin/dlq/discard',
  operation: 'discardDeadLetters',
  tag: TAG,
  summary: 'Discard the dead letters that match a filter, up to 1,000 per request',
  scope: ['jobs:operate'],
  query: z.strictObject({ dry_run: z.boolean('expected true or false').default(false) }),
  body: DiscardBody,
  answers: {
    200: {
      description: 'The jobs are cancelled. With dry_run: the number of matches.',
      schema: z.union([Discarded, DiscardPreview]),
    },
  },
  run: async ({ query, body, db }) => {
    const { all, until_id: until, cursor, ...question } = body;
    const isEmpty = Object.values(question).every((value) => value === undefined || value.length === 0);
    if (isEmpty !== (all === true)) {
      throw invalidBody(
        '/all',
        isEmpty
          ? 'send a filter, or all: true to select every open dead letter'
          : 'send a filter or all: true, not both',
      );
    }
    const filter = await pinDeadLetterFilter(db, question, 'body');
    const after = cursor === undefined ? '0' : readCursor(cursor, question);
    const { count, untilId: newest } = await countDeadLetters(db, filter);
    if (query.dry_run) return { status: 200, body: { matched: count, until_id: newest } };
    const { discarded, left, last } = await discardSome(db, filter, { after, untilId: until ?? newest });
    const next_cursor = last === undefined ? null : writeCursor(last, question);
    return { status: 200, body: { discarded, left, next_cursor, has_more: last !== undefined } };
  },
});

export const discardOne = defineRoute({
  method: 'delete',
  path: '/admin/dlq/{id}',
  operation: 'discardStray',
  tag: TAG,
  summary: 'Discard a message without a job, by its dead_letter_id',
  scope: ['jobs:operate'],
  params: IdParams,
  answers: { 204: { description: 'The mirror deletes the message.' }, 404: { description: 'The message is unknown.' } },
  run: async ({ params, db }) => {
    if (await discardStray(db, params.id)) return { status: 204 };
    throw new Problem('not-found', 'no message without a job has this dead_letter_id');
  },
});
