import { expect, it } from 'vitest';
import type { Database } from '../../../../core/postgres/database.ts';
import { hastyTime, openDatabaseEngine } from '../../../support/database-engine.ts';
import { withQuery } from '../../../support/with-query.ts';
import { claimJob } from './job-states.ts';
import { openWorld } from './world.ts';

const engine = await openDatabaseEngine();

/** Refuses statements after the attempts, as a server whose disk is full does. */
function refusing(code: string, text: string, refuses: (statement: string) => boolean): Database {
  const query = async (statement: string, values?: readonly unknown[]): Promise<unknown> => {
    if (engine.runs.length > 0 && refuses(statement)) throw Object.assign(new Error(text), { code });
    return engine.db.query(statement, values);
  };
  return withQuery(engine.db, query);
}

it.each([
  ['every statement', '53100', 'could not extend file: No space left on device', () => true],
  ['the end of an attempt', '53100', 'could not extend file: No space left on device', isEnding],
  ['the end of an attempt', '25006', 'cannot execute SELECT in a read-only transaction', isEnding],
  ['the end of an attempt', '55P03', 'canceling statement due to lock timeout', isEnding],
])('a batch is given up in one line that names the cause: %s, %s', async (_what, code, text, refuses) => {
  const world = await openWorld(engine);
  const claimed = [await claimJob(world), await claimJob(world)];
  let questions = 5;
  const remainingMs = () => (questions-- > 0 ? 600_000 : 0);
  const db = refusing(code, text, refuses);

  await world.handle(
    'work',
    claimed.map(({ record }) => record),
    { deps: { db, time: hastyTime }, remainingMs },
  );

  const job_ids = claimed.map(({ jobId }) => jobId).join(' ');
  const error = expect.objectContaining({ message: text });
  expect(engine.lines.filter(({ event }) => event === 'settle_given_up')).toEqual([
    expect.objectContaining({ jobs: 2, job_ids, reason: text, sqlstate: code, error }),
  ]);
});

function isEnding(statement: string): boolean {
  return /millrace\.(settle|finish)\(/.test(statement);
}
