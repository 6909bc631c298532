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
/** The number of messages of its first receive. */
const HELD = 10;
/** The time for which a mirror hides received messages, and a little longer. */
const HIDDEN_SECONDS = 61;
const PATIENCE = { timeout: 60_000 };

/** Runs the mirror function in a process of its own. */
function startMirror(): ChildProcess {
  const script = `const { handler } = await import('${MIRROR}'); await handler({}, { functionName: 'mirror', awsRequestId: '1' });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...process.env, DATABASE_URL: engine.database.url },
    stdio: 'ignore',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

it('a mirror that is killed during a sweep hides only its received messages, for a minute', async () => {
  const world = await openDeadLetterWorld(engine);
  const { deadLetterQueueUrl } = world.work;
  const ids = await world.die(JOBS);
  engine.runs.length = 0;
  // The mirror cannot store its messages, so they stay hidden until it is killed.
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
