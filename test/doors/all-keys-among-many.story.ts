import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createApp } from '../../api/app.ts';
import { enqueueAll, enqueueMany } from '../../core/enqueue/enqueue.ts';
import { defineHandler } from '../../core/handler/handler.ts';
import { askApp, schemasOf } from '../api/world.ts';
import { openBothWays } from '../cli/backend/api-world.ts';
import { runCli } from '../cli/run-cli.ts';
import { deploy } from '../support/runtime-engine.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const { pool, db, ask, deps, test } = await openBothWays();

const index = (routingKey: string, payload: z.ZodType) => {
  return defineHandler({ jobType: 'index_record', routingKey, payload, run: async () => undefined });
};
const graph = index('graph', z.object({ n: z.number() }));
const vector = index('vector', z.object({ n: z.number(), text: z.string() }));
await deploy(
  db,
  ...['', 'graph', 'vector'].map((routingKey) => ({ jobType: 'index_record', routingKey })),
  { jobType: 'single' },
  ...Array.from({ length: 50 }, (_, n) => ({ jobType: 'wide', routingKey: `k${n}` })),
);

const count = async () => (await pool.query('select count(*)::integer as jobs from millrace.jobs')).rows[0].jobs;
const post = (path: string, body: unknown, headers = {}) => ask(path, { method: 'POST', body, headers });

describe('many jobs of which some are for all routing keys', () => {
  const itemsOf = (key: string) => [
    { job_type: 'single', payload: 0 },
    { job_type: 'index_record', payload: 1, routing_key: '*' },
    { job_type: 'index_record', payload: 2, routing_key: 'vector' },
    { job_type: 'index_record', payload: 3, routing_key: '*', unique_key: key },
    { job_type: 'single', payload: 4, unique_key: key },
    { job_type: 'index_record', payload: 5, routing_key: 'graph', unique_key: key },
  ];
  const EXPECTED = ['0:', '1:', '1:graph', '1:vector', '2:vector', '3:', '3:graph', '3:vector', '4:', '5:graph'];

  it('have rows with the position and the routing key of each in SQL', async () => {
    const items = JSON.stringify(itemsOf('sql'));

    const { rows } = await pool.query('select * from millrace.enqueue_many($1) order by id', [items]);

    const labels = rows.map((row) => `${row.position}:${row.routing_key}`);
    expect(labels.toSorted()).toEqual(EXPECTED);
    expect(rows.filter(({ deduplicated }) => deduplicated).map(({ position }) => position)).toEqual(['5']);
    // The ids of jobs without a unique key are in their order.
    expect(labels.slice(0, 5)).toEqual(EXPECTED.slice(0, 5));
  });

  it('have entries in the order of the request over HTTP', async () => {
    const { status, body } = await post('/jobs/bulk', { jobs: itemsOf('http') });

    const labels = body.items.map((item: Record<string, unknown>) => `${item.index}:${item.routing_key}`);
    expect(status).toBe(201);
    expect(labels).toEqual(EXPECTED);
    expect(body).toMatchObject({ inserted: 9, deduplicated: 1, failed: 0 });
  });

  it('are refused by enqueueMany, whose results are those of its items', async () => {
    const item = { handler: graph, payload: { n: 1 }, routingKey: '*' };
    const { routingKey: _, ...plain } = item;

    await expect(enqueueMany(pool, [plain, item])).rejects.toThrow(/^items\[1\]\.routingKey: .*enqueueAll/);
    await expect(enqueueMany(pool, [{ ...plain, handler: { ...graph, routingKey: '*' } }])).rejects.toThrow(
      /^items\[0\]\.handler: .*enqueueAll/,
    );
  });

  it('have one entry for an invalid job with `atomic: false`', async () => {
    const jobs = [
      { job_type: 'absent', routing_key: '*' },
      { job_type: 'index_record', routing_key: '*' },
    ];

    const { status, body } = await post('/jobs/bulk', { jobs, atomic: false });

    expect(status).toBe(207);
    expect(body).toMatchObject({ inserted: 3, deduplicated: 0, failed: 1 });
    expect(body.items.map((item: { index: number }) => item.index)).toEqual([0, 1, 1, 1]);
    expect(body.items[0].errors[0].detail).toContain('no handler of the job type absent is deployed: deploy one');
  });

  it('are refused over HTTP when they are more than 10,000 in all', async () => {
    const wide = { job_type: 'wide', routing_key: '*' };
    const [before, jobs] = [await count(), Array.from({ length: 200 }, () => wide)];

    const { status, body } = await post('/jobs/bulk', { jobs: [...jobs, { job_type: 'single' }] });

    const detail = 'body /jobs: expected at most 10000 jobs in all, got 10001 with those for routing_key *';
    expect({ status, detail: body.detail }).toEqual({ status: 422, detail });
    expect(await count()).toBe(before);
  });

  it('are the same jobs when the request is repeated with its Idempotency-Key', async () => {
    const jobs = { jobs: itemsOf('repeated') };
    const first = await post('/jobs/bulk', jobs, { 'idempotency-key': 'all' });
    const before = await count();

    const second = await post('/jobs/bulk', jobs, { 'idempotency-key': 'all' });

    expect(second.text).toBe(first.text);
    expect(await count()).toBe(before);
  });
});

describe('the payload of a job for all routing keys', () => {
  const fault = {
    in: 'body',
    pointer: '/jobs/0/payload/text',
    detail: expect.stringMatching(/^index_record\.vector: /),
  };

  it.each([
    ['one handler refuses it', { n: 1 }, [fault]],
    [
      'two handlers refuse it',
      {},
      [{ ...fault, pointer: '/jobs/0/payload/n', detail: expect.stringMatching(/graph: /) }],
    ],
  ])('is refused by the API, by the name of the first handler, if %s', async (_what, payload, errors) => {
    const app = createApp({ ...deps, schemas: schemasOf(graph, vector) });
    const body = { jobs: [{ job_type: 'index_record', routing_key: '*', payload }] };
    const before = await count();

    const answer = await askApp(app, '/jobs/bulk', { method: 'POST', body });

    expect(answer).toMatchObject({ status: 422, body: { errors } });
    expect(await count()).toBe(before);
  });

  it('is refused by the command line with the handlers of the project', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'functions/handlers'), { recursive: true });
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    await symlink(join(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'));
    const source = (key: string, member: string) => `import { z } from 'zod';
      import { defineHandler } from '${join(import.meta.dirname, '../../core/index.ts')}';
      export default defineHandler({ jobType: 'index_record', routingKey: '${key}',
        payload: z.object({ ${member}: z.string() }), run: () => undefined });`;
    for (const [key, member] of [
      ['graph', 'id'],
      ['vector', 'text'],
    ] as const) {
      await writeFile(join(folder, `functions/handlers/index-record.${key}.ts`), source(key, member));
    }
    const args = (payload: string) => ['enqueue', 'index_record', payload, '--routing-key', '*'];
    const options = { cwd: folder, env: { DATABASE_URL: test.url } };

    const wrong = await runCli(args('{"id": "7"}'), options);
    const right = await runCli(args('{"id": "7", "text": "x"}'), options);

    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain('payload/text: index_record.vector: ');
    expect(right).toMatchObject({ code: 0, stdout: expect.stringMatching(/^(\d+\n){3}$/) });
  });

  it('is checked with the schema of the definition that enqueueAll gets', async () => {
    await expect(enqueueAll(pool, vector, { n: 1 })).rejects.toThrow('index_record.vector: payload/text: ');
  });
});
