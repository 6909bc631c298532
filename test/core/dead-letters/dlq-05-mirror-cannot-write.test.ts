import { expect, inject, it, onTestFinished, vi } from 'vitest';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { ask } from '../../support/postgres-server.ts';
import { hiddenSeconds } from '../run/messages/world.ts';
import { type DeadLetterRow, openDeadLetterWorld } from './dead-letter-world.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });
const name = new URL(engine.database.url).pathname.slice(1);
const MEGABYTE = 1_000_000;
const ODD = ['{"note":"\\u0000"}', 'not json', 'x'.repeat(MEGABYTE)];
/** Too short for a second settle, in milliseconds. */
const NO_TIME_LEFT = 900;

async function takeAway(): Promise<void> {
  onTestFinished(bringBack);
  const server = inject('postgres').url;
  await ask(server, `alter database ${name} with allow_connections false`);
  await ask(server, `select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = '${name}'`);
}

async function bringBack(): Promise<void> {
  await ask(inject('postgres').url, `alter database ${name} with allow_connections true`);
}

const bodiesOf = (rows: readonly DeadLetterRow[]) => rows.flatMap(({ raw_body }) => raw_body ?? []).toSorted();

it('DLQ-05: all messages that arrive in the dead-letter queue during a database outage are stored later', async () => {
  const world = await openDeadLetterWorld(engine);
  const { queueUrl, deadLetterQueueUrl } = world.work;
  const normal = await world.die(5);
  const odd = [...ODD, engine.body('99999999', '1')];
  for (const body of odd) await world.send(queueUrl, body);
  // The function leaves the message without a job at each delivery.
  for (let n = 0; n < 6; n++) {
    await world.pump('work');
    await world.advance(hiddenSeconds(engine));
  }
  const deep = await world.depth(deadLetterQueueUrl);
  await takeAway();

  const away = await world.mirror().then(
    () => 'done',
    (error: { code?: string }) => error.code,
  );
  const meanwhile = await world.depth(deadLetterQueueUrl);
  await bringBack();
  await world.advance(60);
  await world.mirror();
  const rows = await world.rows();
  await world.advance(16 * 60);
  await world.mirror();

  expect(away).toMatch(/^(55000|57P01|08|EPIPE|ECONNRESET)/);
  expect(deep).toEqual({ visible: 9, hidden: 0 });
  expect(meanwhile).toEqual(deep);
  expect(rows).toHaveLength(9);
  expect(rows.filter(({ status, seen }) => status !== 'open' || !seen)).toEqual([]);
  expect(rows.flatMap(({ job_id }) => job_id ?? [])).toEqual(normal);
  expect(bodiesOf(rows)).toEqual(odd.toSorted());
  for (const id of normal) expect(await engine.state(id)).toMatchObject({ status: 'dead_letter', attempts: 1 });
  expect(await world.rows()).toEqual(rows);
  expect(await world.depth(deadLetterQueueUrl)).toEqual(deep);
});

it('DLQ-05: jobs whose handler could not store their failure are dead within one run of the mirror', async () => {
  const world = await openDeadLetterWorld(engine);
  const { queueUrl, deadLetterQueueUrl } = world.work;
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push(await engine.enqueue());
  await world.dispatch();
  engine.work = async () => {
    await takeAway();
    throw new Error('and no caller sees it');
  };

  const records = await world.receive(queueUrl, 5);
  await world.handle('work', records, { remainingMs: vi.fn(() => NO_TIME_LEFT).mockReturnValueOnce(600_000) });
  await bringBack();
  const unheard = await Promise.all(ids.map((id) => engine.state(id)));
  for (let n = 0; n < 6; n++) {
    await world.advance(hiddenSeconds(engine));
    await world.pump('work');
  }
  const deep = await world.depth(deadLetterQueueUrl);
  await engine.rescue();
  await world.mirror();

  expect(unheard.map(({ status }) => status)).toEqual(ids.map(() => 'running'));
  expect(deep).toEqual({ visible: 5, hidden: 0 });
  for (const id of ids) {
    expect(await engine.state(id)).toMatchObject({
      status: 'dead_letter',
      attempts: 1,
      last_error: expect.stringMatching(/did not report back/),
    });
  }
  expect(await world.rows()).toMatchObject(ids.map((job_id) => ({ job_id, status: 'open', seen: true })));
});
