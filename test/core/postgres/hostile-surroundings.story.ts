import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { openDeadLetterQueues } from '../../../core/aws/dead-letter-queues.ts';
import { openQueues } from '../../../core/aws/queues.ts';
import { mirror } from '../../../core/dead-letters/mirror.ts';
import { dispatch } from '../../../core/dispatch/dispatch.ts';
import { insertJob } from '../../../core/enqueue/insert-jobs.ts';
import { defineHandler } from '../../../core/handler/handler.ts';
import { retry } from '../../../core/handler/retry-policy.ts';
import { showJob } from '../../../core/look/show-job.ts';
import { openDatabase } from '../../../core/postgres/database.ts';
import { registerHandlers } from '../../../core/registry/register-handlers.ts';
import { runBatch } from '../../../core/run/run-batch.ts';
import { systemTime } from '../../../core/time.ts';
import { ensureQueues, openSqsClient } from '../../../local/functions/handler-queues.ts';
import { openQueueClient } from '../../../local/lambda/queue-client.ts';
import { toSqsRecord } from '../../../local/lambda/sqs-record.ts';
import { startSqs } from '../../../local/sqs/server.ts';
import { runCli } from '../../cli/run-cli.ts';
import { eventually } from '../../support/eventually.ts';
import { createLogin, openEngine, recordLog } from '../../support/runtime-engine.ts';
import { amidHostility, EVIL, HOSTILE_SETTINGS, HOSTILE_VARIABLES } from './hostile-surroundings.ts';

const REGION = 'us-east-1';
const engine = await openEngine();
const operator = await createLogin(engine.test, 'millrace_operator');
const sqs = await startSqs();
const client = openSqsClient(sqs.endpoint, REGION);
const address = { endpoint: sqs.endpoint, region: REGION, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } };

afterAll(async () => {
  client.destroy();
  await sqs.close();
  await engine.close();
  await operator.drop();
});

async function makeHostile(): Promise<void> {
  await engine.pool.query(EVIL);
  const { rows } = await engine.pool.query('select name from pg_settings');
  const known = new Set(rows.map(({ name }) => String(name).toLowerCase()));
  for (const url of [engine.runtimeUrl, operator.url]) {
    for (const [name, value] of HOSTILE_SETTINGS.filter(([one]) => known.has(one))) {
      await engine.pool.query(`alter role ${new URL(url).username} set ${name} = ${value}`);
    }
  }
}

const cli = async (...args: string[]) => {
  const answer = await runCli([...args, '--database-url', operator.url], { env: HOSTILE_VARIABLES });
  expect(answer, answer.stderr).toMatchObject({ code: 0 });
  return answer.stdout;
};

it('a job passes through every state despite hostile variables, role settings and a changed driver', async () => {
  await makeHostile();
  const log = recordLog();
  const definition = defineHandler({
    ...{ jobType: 'work', payload: z.object({ fails: z.boolean() }), maxAttempts: 2, retry: retry.fixed('1s') },
    run: async ({ payload }) => {
      if (payload.fails) throw new Error('boom');
      return { done: true };
    },
  });

  const lived = await amidHostility(async () => {
    const db = openDatabase({ connectionString: engine.runtimeUrl, max: 2, name: 'life', log });
    const [queues, dead, poller] = [
      openQueues(address),
      openDeadLetterQueues(address),
      openQueueClient(sqs.endpoint, REGION),
    ];
    const made = await ensureQueues(client, 'test', definition);
    await registerHandlers({ db, stage: 'local' }, [{ definition, functionName: 'work', ...made }]);
    const take = async () => {
      const { signal } = new AbortController();
      const messages = await poller.receive(made.queueUrl, 10, 0, signal);
      const records = messages.map((message) => toSqsRecord(message, made.queueArn));
      const deps = { definition, queueUrl: made.queueUrl, db, queues, time: systemTime, log, random: () => 0.5 };
      const invocation = { awsRequestId: 'r', getRemainingTimeInMillis: () => 600_000 };
      const answer = await runBatch({ ...deps, exit: () => undefined }, { Records: records }, invocation);
      const kept = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      const gone = records.filter(({ messageId }) => !kept.has(messageId));
      if (gone.length > 0)
        await poller.remove(
          made.queueUrl,
          gone.map(({ receiptHandle }) => receiptHandle),
        );
    };
    const work = async (count: number) => {
      await eventually(async () => {
        const { claimed } = await dispatch({ db, queues, log, random: () => 1 }, 10);
        expect(claimed).toBe(count);
      });
      await take();
    };
    const job = { jobType: 'work', routingKey: '' };
    const good = await insertJob(db, {
      ...job,
      payload: '{"fails":false}',
      runAt: new Date('2026-02-01T00:00:00.123Z'),
    });
    const bad = await insertJob(db, { ...job, payload: '{"fails":true}' });
    await work(2);
    await work(1);
    // The message of a dead job moves to the dead-letter queue after enough receives.
    const mirrored = await eventually(async () => {
      await take();
      await mirror({ db, deadLetterQueues: dead, queues, log, time: systemTime });
      const { rows } = await db.query<{ seen: Date; ids: string[] }>(
        `select max(first_seen_at) as seen, array_agg(job_id order by id) as ids from millrace.dead_letters
           where message_id is not null`,
      );
      expect(rows[0]?.ids).toEqual([bad.id]);
      return rows[0];
    });
    const shown = [await showJob(db, good.id), await showJob(db, bad.id)];
    const slow = await db.transaction(async (tx) => {
      await tx.query('select pg_sleep(0.3)');
      await new Promise((next) => setTimeout(next, 50));
      return tx.query(
        String.raw`select lower('A') as lowered, 9007199254740993 as big, $1::text[] as nothing, 'a\b' as backslash,
          (0.1::float8 + 0.2)::float8 as number, interval '1 day -1 hour'::text as span,
          timestamptz '2026-02-03 04:05:06.5Z'::text as time, '01/02/2026'::date::text as day`,
        [[null, 'a"\\b']],
      );
    });
    const list = await cli('jobs', 'list', '--json');
    const letters = await cli('dlq', 'list', '--json');
    await cli('redrive', '--job-type', 'work', '--yes');
    await cli('jobs', 'show', bad.id);
    for (const one of [db, queues, dead, poller]) await one.close();
    return { good, bad, mirrored, shown, slow: slow.rows, list, letters };
  });

  expect(log.events('job_succeeded')).toHaveLength(1);
  expect(log.events('job_failed')).toHaveLength(1);
  expect(log.events('job_dead_letter')).toHaveLength(1);
  expect(lived.mirrored?.seen).toBeInstanceOf(Date);
  expect(lived.shown.map((one) => one?.job)).toMatchObject([
    { status: 'succeeded', attempts: 1 },
    { status: 'dead_letter', attempts: 2 },
  ]);
  expect(lived.slow).toEqual([
    {
      ...{ lowered: 'a', big: '9007199254740993', nothing: [null, 'a"\\b'], backslash: String.raw`a\b` },
      ...{ number: 0.1 + 0.2, span: '1 day -01:00:00', time: '2026-02-03 04:05:06.5+00', day: '2026-01-02' },
    },
  ]);
  expect(lived.list).toContain('2026-02-01T00:00:00.123Z');
  expect(lived.letters).toContain('boom');
});
