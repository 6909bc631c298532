import { isMigrated } from '../../core/access/begin-request.ts';
import { Health } from '../documents/documents.ts';
import { Problem } from '../problem.ts';
import { defineRoute } from '../route.ts';

const TAG = 'Health';

export const healthz = defineRoute({
  method: 'get',
  path: '/healthz',
  operation: 'healthz',
  tag: TAG,
  summary: 'Check that the API is running',
  scope: 'none',
  detached: true,
  answers: { 200: { description: 'The API is running.', schema: Health } },
  run: async ({ deps }) => ({ status: 200, body: { status: 'ok', version: deps.version } }),
});

export const readyz = defineRoute({
  method: 'get',
  path: '/readyz',
  operation: 'readyz',
  tag: TAG,
  summary: 'Check that the API can serve: the database responds and is migrated',
  scope: 'none',
  detached: true,
  answers: {
    200: { description: 'The API can serve.', schema: Health },
    503: { description: 'The database is unavailable or not migrated.' },
  },
  run: async ({ deps }) => {
    if (!(await isMigrated(deps.db))) {
      throw new Problem('database-unavailable', 'the schema is older than this release: run the migrations');
    }
    return { status: 200, body: { status: 'ok', version: deps.version } };
  },
});
