import * as z from 'zod';
import { snakeCase } from '../../core/json.ts';
import { pageAudit } from '../../core/look/page-audit.ts';
import { pageDocument, startOf } from '../paging.ts';
import { defineRoute } from '../route.ts';
import { Id, PageQuery, pageOf, Words } from '../schemas.ts';

const AuditLine = z
  .object({
    id: z.string(),
    at: z.iso.datetime(),
    actor: z.string(),
    action: z.string(),
    job_id: z.string().nullable(),
    details: z
      .record(z.string(), z.unknown())
      .meta({ description: 'With more than 16 KiB of JSON only `too_large: true`.' }),
  })
  .meta({ id: 'AuditLine', description: 'An operation by a person or another caller.' });

export const listAudit = defineRoute({
  method: 'get',
  path: '/admin/audit',
  operation: 'listAudit',
  tag: 'Audit',
  summary: 'List audit events, newest first',
  scope: ['audit:read'],
  query: PageQuery.extend({
    action: Words.optional(),
    actor: Words.optional().meta({ description: 'The name of a caller, or `key:<id>` for an API key.' }),
    job_id: Id.optional(),
  }),
  answers: { 200: { description: 'A page of audit events.', schema: pageOf(AuditLine) } },
  run: async ({ query, db }) => {
    const { limit, cursor, page, ...question } = query;
    const { action, actor, job_id: jobId } = question;
    const { lines, next } = await pageAudit(db, { action, actor, jobId }, startOf({ limit, cursor, page }, question));
    return { status: 200, body: pageDocument(lines.map(snakeCase), next, question) };
  },
});
