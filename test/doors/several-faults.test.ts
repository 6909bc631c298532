import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { answerFailure } from '../../cli/backend/by-api/failure.ts';
import { defineHandler, enqueue, enqueueMany } from '../../core/index.ts';
import { openApi } from '../api/world.ts';
import { runCli } from '../cli/run-cli.ts';
import { attemptOf } from '../core/run/attempt/one-attempt.ts';
import { openDatabaseEngine } from '../support/database-engine.ts';

const PROJECT = join(import.meta.dirname, '../..');
const engine = await openDatabaseEngine();
const { ask } = await openApi();
const order = defineHandler({
  jobType: 'take_order',
  payload: z.object({ to: z.string(), lines: z.array(z.number()), paid: z.boolean() }),
  run: async () => undefined,
});
const payload = { to: 1, lines: [2, 'x'], paid: true } as never;
const EXPECTED = /^(?:take_order: )?payload\/to: [^;]+; payload\/lines\/1: [^;]+$/;
const MANY = { to: 'a', lines: Array(50).fill('x'), paid: true } as never;

it('the library lists every fault of a payload with its path', async () => {
  const refused = await enqueue(engine.database.pool, order, payload).catch((error: unknown) => error);

  expect(refused).toMatchObject({
    name: 'PayloadInvalid',
    field: '/to',
    message: expect.stringMatching(EXPECTED),
    faults: [
      { field: '/to', message: expect.any(String) },
      { field: '/lines/1', message: expect.any(String) },
    ],
    more: 0,
  });
});

it('the library lists every fault of an item of many with its index', async () => {
  const good = { to: 'a', lines: [], paid: true };

  const refused = enqueueMany(engine.database.pool, [
    { handler: order, payload: good },
    { handler: order, payload },
  ]);

  await expect(refused).rejects.toThrow(/^take_order: payload\[1\]\/to: [^;]+; payload\[1\]\/lines\/1: [^;]+$/);
});

it('an attempt stores every fault', async () => {
  const { outcome } = await attemptOf(order, { payload: JSON.stringify(payload) });

  expect(outcome).toMatchObject({ kind: 'dead_letter', error: { message: expect.stringMatching(EXPECTED) } });
});

it('the list ends after 20 faults with the number of the others', async () => {
  const refused = (await enqueue(engine.database.pool, order, MANY).catch((error: unknown) => error)) as Error;

  expect(refused.message.split('; ')).toHaveLength(21);
  expect(refused.message).toMatch(/payload\/lines\/19: [^;]+; and 30 more$/);
});

it('the API answers with every fault', async () => {
  const job = { job_type: 'mail', payload: { to: 1, n: 'x' } };

  const { status, body } = await ask('/jobs', { method: 'POST', body: job });

  expect(status).toBe(422);
  expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(['/payload/to', '/payload/n']);
  expect(body.detail).toMatch(/\(and 1 more: see errors\)$/);
  expect(answerFailure('the API', status, body).message).toMatch(/^body \/payload\/to: .+; body \/payload\/n: .+$/);
});

it('the command prints every fault', async () => {
  const env = { DATABASE_URL: engine.database.url };

  const { code, stderr } = await runCli(['enqueue', 'send_reminder', '{"to":1,"text":2}'], { env, cwd: PROJECT });

  expect(code).toBe(2);
  expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(/payload\/to: .+; payload\/subject: .+; payload\/text: /);
});
