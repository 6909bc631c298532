import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../support/database.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';
import { eventually } from '../../support/eventually.ts';
import { openDeadLetterWorld } from './dead-letter-world.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });
const MIRROR = pathToFileURL(resolve(import.meta.dirname, '../../../functions/dlq-mirror.ts')).href;
const JOBS = 25;
/** What its first receive brings. */
const HELD = 10;
/** As long as what a mirror peeks at is hidden, and a little longer. */
const HIDDEN_SECONDS = 61;
const PATIENCE = { timeout: 60_000 };

/** The function, in a process of its own. */
function startMirror(): ChildProcess {
  const script = `const { handler } = await import('${MIRROR}'); await handler({}, { functionName: 'mirror', awsRequestId: '1' });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, DATABASE_URL: engine.database.url },
    stdio: 'ignore',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

it('a mirror that is killed between peek and give-back hides what it held for a minute, and nothing else', async () => {
  const world = await openDeadLetterWorld(engine);
  const { deadLetterQueueUrl } = world.work;
  const ids = await world.die(JOBS);
  engine.runs.length = 0;
  // It cannot note what it has received, and so holds it until it is killed.
  const client = await createClient(engine.database.url);
  await client.query('begin; lock table millrace.installation');
  const child = startMirror();
  const exited = once(child, 'exit');
  const seen = () => world.depth(deadLetterQueueUrl);
  await eventually(async () => expect(await seen()).toEqual({ visible: JOBS - HELD, hidden: HELD }), PATIENCE);
  child.kill('SIGKILL');
  const [, signal] = await exited;
  await client.query('rollback');

  const first = await world.moveTask();
  await world.workOff();
  const between = engine.runs.length;
  const hidden = await seen();
  await world.advance(HIDDEN_SECONDS);
  await world.mirror();
  const rows = await world.rows();
  const second = await world.moveTask();
  await world.workOff();

  expect(signal).toBe('SIGKILL');
  expect([first, between]).toEqual([JOBS - HELD, JOBS - HELD]);
  expect(hidden).toEqual({ visible: 0, hidden: HELD });
  expect(rows.filter(({ status, seen: looked }) => status === 'open' && looked)).toHaveLength(HELD);
  expect(second).toBe(HELD);
  expect(engine.runs.toSorted()).toEqual(ids.toSorted());
  expect(await seen()).toEqual({ visible: 0, hidden: 0 });
  expect((await world.rows()).filter(({ status }) => status !== 'redriven')).toEqual([]);
});
