import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SqsEmulator, startSqs } from '../../../local/sqs/server.ts';
import { writeState } from '../../../local/state.ts';
import { kill } from '../../contract/sqs-dead-pair.ts';
import { createWorld, type Pair, type World } from '../../contract/sqs-world.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { openDeadLetters } from '../commands/dead-letters.ts';
import { runCli } from '../run-cli.ts';
import { startCli } from '../start-cli.ts';

const { env: database, pool, operator } = await openDeadLetters();
let emulator: SqsEmulator;
let world: World;
beforeAll(async () => {
  emulator = await startSqs();
  world = createWorld(emulator.endpoint);
});
afterAll(async () => {
  await world.close();
  await emulator.close();
});

/** Enough messages that a slow move takes longer than a command on a busy machine. */
const letters = (count: number) => Array.from({ length: count }, (_, index) => `message ${index}`);
const BUSY_MACHINE = { timeout: 60_000 };
const keys = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' };
const environment = () => ({ ...database, ...keys, AWS_ENDPOINT_URL_SQS: emulator.endpoint });

async function redrive(...args: string[]) {
  const all = ['redrive', '--via-sqs', '--yes', '--json', ...args];
  const { code, stdout, stderr } = await runCli(all, { env: environment() });
  return { code, stderr, answer: stdout === '' ? undefined : JSON.parse(stdout) };
}

async function useQueues(jobType: string, { source, dlq }: Pick<Pair, 'source' | 'dlq'>): Promise<void> {
  await pool.query(
    `insert into millrace.handlers select (jsonb_populate_record(h, jsonb_build_object('job_type', $1::text,
         'queue_url', $2::text, 'dead_letter_queue_url', $3::text))).* from millrace.handlers h where job_type = 'mail'
       on conflict (job_type, routing_key) do update
         set queue_url = excluded.queue_url, dead_letter_queue_url = excluded.dead_letter_queue_url`,
    [jobType, source, dlq],
  );
}

/** Creates a handler whose dead-letter queue has these messages, moved there by SQS. */
async function deadHandler(jobType: string, ...bodies: string[]): Promise<Pair> {
  const pair = await world.pair(1);
  for (let from = 0; from < bodies.length; from += 10) await kill(world, pair, bodies.slice(from, from + 10));
  await useQueues(jobType, pair);
  return pair;
}

describe('redrive --via-sqs', () => {
  it('makes SQS move all messages back to their source queue', async () => {
    const { source, dlq } = await deadHandler('whole', 'a', 'b', 'c');

    const { code, answer, stderr } = await redrive('--job-type', 'whole');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(answer).toMatchObject({ moved: 3, moves: [{ name: 'whole', status: 'COMPLETED', moved: 3, left: 0 }] });
    expect([(await world.depth(source))[0], (await world.depth(dlq))[0]]).toEqual([3, 0]);
  });

  it('moves nothing with --dry-run, and prints how many messages are in the queue', async () => {
    const { dlq } = await deadHandler('dry', 'a', 'b');

    const { code, answer } = await redrive('--job-type', 'dry', '--dry-run');

    expect({ code, answer }).toEqual({
      code: 0,
      answer: { dry_run: true, queues: [{ handlers: 'dry', queue_url: dlq, messages: 2, refused: null }] },
    });
    expect((await world.depth(dlq))[0]).toBe(2);
  });

  it('requires a confirmation', async () => {
    await deadHandler('asked', 'a');

    const answer = await runCli(['redrive', '--via-sqs', '--job-type', 'asked'], { env: environment() });

    expect(answer).toMatchObject({ code: 6, stdout: '', stderr: expect.stringContaining('Make SQS move 1 message') });
  });

  it.each([
    [['--id', '1'], 'a move task moves everything in the queue'],
    [['--error', 'x'], 'a move task moves everything in the queue'],
    [['--since', '1h'], 'a move task moves everything in the queue'],
    [['--group', 'abcd'], 'a move task moves everything in the queue'],
    [['--all', '--limit', '5'], 'a move task moves everything in the queue'],
    [['--all', '--rate', '0.5'], 'a whole number of messages per second, 1 to 500'],
    [['--all', '--rate', '501'], 'a whole number of messages per second, 1 to 500'],
    [[], 'specify which queues: --job-type or --routing-key, or --all for every one'],
  ])('rejects %j', async (options, sentence) => {
    const { code, answer, stderr } = await redrive(...options);

    expect({ code, answer }).toEqual({ code: 2, answer: undefined });
    expect(stderr).toContain(sentence);
  });

  it('cancels its move task at Ctrl-C, and leaves moved messages moved', async () => {
    const { dlqArn } = await deadHandler('slow', ...letters(40));
    const args = ['redrive', '--via-sqs', '--job-type', 'slow', '--rate', '1', '--yes', '--json'];
    const { process: child, ended } = startCli(args, { env: environment() });
    await eventually(async () => {
      const { Results } = await world.sqs.listMessageMoveTasks({ SourceArn: dlqArn });
      expect(Results?.[0]?.ApproximateNumberOfMessagesMoved).toBeGreaterThan(0);
    }, BUSY_MACHINE);

    child.kill('SIGINT');

    const { code, stdout } = await ended;
    const { moved, moves } = JSON.parse(stdout);
    expect({ code, status: moves[0].status, sum: moved + moves[0].left }).toEqual({
      ...{ code: 130, status: 'CANCELLED', sum: 40 },
    });
    expect(moved).toBeLessThan(40);
  });

  it('uses the SQS of the stack that the database belongs to', async () => {
    const { source } = await deadHandler('stack', 'a');
    const folder = await temporaryFolder();
    await writeState(folder, {
      ...{ pid: process.pid, databaseUrl: operator.url, sqsEndpoint: emulator.endpoint, handlers: [] },
      ...{ lambdaEndpoint: 'http://127.0.0.1:1', smtpUrl: 'smtp://127.0.0.1:1', filesUrl: 'http://127.0.0.1:1' },
      apiUrl: 'http://127.0.0.1:1',
      lambdaAccessKeyId: 'key',
      mailFolder: join(folder, 'mails'),
    });

    const { code } = await runCli(['redrive', '--via-sqs', '--job-type', 'stack', '--yes'], { cwd: folder });

    expect(code).toBe(0);
    expect((await world.depth(source))[0]).toBe(1);
  });
});

describe('redrive --via-sqs reports', () => {
  it('an empty queue and an unknown handler', async () => {
    await useQueues('empty', await world.pair(1));

    const [empty, none] = await Promise.all([redrive('--job-type', 'empty'), redrive('--job-type', 'unknown')]);

    expect(empty).toMatchObject({ code: 3, stderr: expect.stringContaining('without --via-sqs, redrive moves') });
    expect(none).toMatchObject({ code: 3, stderr: 'error: no handler matches\n' });
  });

  it('a running task, a queue that is not a dead-letter queue, and a missing queue', async () => {
    const busy = await deadHandler('busy', ...letters(40));
    await world.sqs.startMessageMoveTask({ SourceArn: busy.dlqArn, MaxNumberOfMessagesPerSecond: 1 });
    const plain = await world.queue();
    await world.send(plain, 'a');
    await useQueues('plain', { source: plain, dlq: plain });
    await useQueues('missing', { source: plain, dlq: `${emulator.endpoint}/000000000000/none` });

    const [running, none, missing] = await Promise.all(
      ['busy', 'plain', 'missing'].map((jobType) => redrive('--job-type', jobType)),
    );

    expect(running).toMatchObject({ code: 5, stderr: expect.stringContaining('busy: a move task is already running') });
    expect(none).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('plain: no redrive policy names this queue'),
    });
    expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining('missing: no such queue') });
    expect(missing?.stderr).toContain('without --via-sqs, redrive moves dead jobs in the table');
  });

  it('a message that was sent to the dead-letter queue directly', async () => {
    const pair = await world.pair(1);
    await world.send(pair.dlq, 'sent directly');
    await useQueues('direct', pair);

    const { code, answer, stderr } = await redrive('--job-type', 'direct');

    expect({ code, status: answer.moves[0].status }).toEqual({ code: 1, status: 'FAILED' });
    expect(stderr).toContain('direct: SQS failed at a message that was sent to the dead-letter queue directly');
    expect(stderr).toContain('npx millrace dlq discard --stray N');
  });

  it('an unreachable SQS, missing credentials and a missing region', async () => {
    const args = ['redrive', '--via-sqs', '--all', '--yes', '--json'];
    const strangers = { ...database, AWS_EC2_METADATA_DISABLED: 'true', HOME: '/nonexistent' };

    const [away, unknown, nowhere] = await Promise.all([
      runCli(args, { env: { ...environment(), AWS_ENDPOINT_URL_SQS: 'http://127.0.0.1:1' } }),
      runCli(args, { env: { ...strangers, AWS_REGION: 'us-east-1' } }),
      runCli(args, { env: strangers }),
    ]);

    expect(away).toMatchObject({
      code: 7,
      stdout: '',
      stderr: expect.stringContaining('cannot reach SQS: connection refused'),
    });
    expect(unknown).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('no AWS credentials') });
    expect(nowhere).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('set AWS_REGION') });
  });
});
