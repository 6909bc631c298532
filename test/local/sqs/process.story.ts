import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../contract/sqs-world.ts';
import { endEmulators, killEmulator, spawnMain, startEmulator } from './emulator-process.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sqs-'));
});
afterEach(endEmulators);
afterAll(() => rm(folder, { recursive: true }));

describe('a killed emulator', () => {
  it('keeps ready, delayed and in-flight messages, counts, dead letters and URLs in its data file', async () => {
    const data = join(folder, 'states.sqlite');
    const first = await startEmulator('--data', data);
    const { source, dlq, sourceArn } = await first.world.pair(2, 600);
    const plain = await first.world.queue({ VisibilityTimeout: '600' });
    await first.world.send(plain, 'held', 'ready 1', 'ready 2', 'deleted');
    const [held] = await first.world.receive(plain, { MaxNumberOfMessages: 1 });
    const taken = await first.world.receive(plain, { VisibilityTimeout: 0 });
    const last = taken.find(({ Body }) => Body === 'deleted');
    await first.world.sqs.deleteMessage({ QueueUrl: plain, ReceiptHandle: last!.ReceiptHandle });
    await first.world.sqs.sendMessage({ QueueUrl: plain, MessageBody: 'later', DelaySeconds: 600 });
    await first.world.send(source, 'dead');
    for (let count = 0; count < 3; count += 1) await first.world.receive(source, { VisibilityTimeout: 0 });
    await killEmulator(first);

    const { world } = await startEmulator('--data', data);

    expect(await world.depth(plain)).toEqual([2, 1, 1]);
    const seen = await world.receive(plain, { VisibilityTimeout: 0 });
    expect(seen.map((one) => [one.Body, one.Attributes?.ApproximateReceiveCount])).toEqual([
      ['ready 1', '2'],
      ['ready 2', '2'],
    ]);
    await world.sqs.changeMessageVisibility({
      QueueUrl: plain,
      ReceiptHandle: held!.ReceiptHandle,
      VisibilityTimeout: 0,
    });
    expect(await world.bodies(plain)).toContain('held');
    const [dead] = await world.receive(dlq);
    expect(dead?.Attributes).toMatchObject({ ApproximateReceiveCount: '3', DeadLetterQueueSourceArn: sourceArn });
    expect((await world.sqs.listDeadLetterSourceQueues({ QueueUrl: dlq })).queueUrls).toHaveLength(1);
  });

  it('has every message whose send succeeded after a restart, and no message whose delete succeeded', async () => {
    const data = join(folder, 'burst.sqlite');
    const first = await startEmulator('--data', data);
    const url = await first.world.queue();
    const answered = new Set<string>();
    const sender = async (name: string) => {
      for (let index = 0; ; index += 1) {
        const { MessageId } = await first.world.sqs.sendMessage({ QueueUrl: url, MessageBody: `${name}${index}` });
        answered.add(MessageId!);
      }
    };
    const deleted = new Set<string>();
    const deleter = async () => {
      for (;;) {
        for (const { MessageId, ReceiptHandle } of await first.world.receive(url, { MaxNumberOfMessages: 1 })) {
          await first.world.sqs.deleteMessage({ QueueUrl: url, ReceiptHandle });
          deleted.add(MessageId!);
        }
      }
    };
    const work = Promise.allSettled([sender('a'), sender('b'), sender('c'), deleter()]);
    await eventually(
      async () => [answered.size, deleted.size] as const,
      ([sent, gone]) => sent > 200 && gone > 50,
    );
    await killEmulator(first);
    await work;

    const { world } = await startEmulator('--data', data);

    const [ready, inFlight] = await world.depth(url);
    // Each of the three sends and the delete in progress at the kill may or may not have been stored.
    expect(ready + inFlight).toBeGreaterThanOrEqual(answered.size - deleted.size - 1);
    expect(ready + inFlight).toBeLessThanOrEqual(answered.size - deleted.size + 3);
    const left = new Set<string>();
    for (let some = await world.receive(url); some.length > 0; some = await world.receive(url)) {
      for (const { MessageId } of some) left.add(MessageId!);
    }
    expect([...left].filter((id) => deleted.has(id))).toEqual([]);
  });

  it('resumes a move task at its rate after a restart', async () => {
    const data = join(folder, 'move.sqlite');
    const first = await startEmulator('--data', data);
    const { dlq, dlqArn } = await first.world.pair(1);
    const target = await first.world.queue();
    await first.world.send(dlq, '1', '2', '3', '4', '5', '6');
    const DestinationArn = await first.world.arn(target);
    await first.world.sqs.startMessageMoveTask({ SourceArn: dlqArn, DestinationArn, MaxNumberOfMessagesPerSecond: 3 });
    await eventually(
      () => first.world.depth(target),
      ([visible]) => visible > 0,
    );
    await killEmulator(first);

    const { world } = await startEmulator('--data', data);

    const running = (await world.sqs.listMessageMoveTasks({ SourceArn: dlqArn })).Results![0];
    expect(running?.Status).toBe('RUNNING');
    await eventually(
      () => world.depth(target),
      ([visible]) => visible === 6,
    );
    const task = async () => (await world.sqs.listMessageMoveTasks({ SourceArn: dlqArn })).Results![0]!;
    const done = await eventually(task, ({ Status }) => Status !== 'RUNNING');
    expect(done).toMatchObject({ Status: 'COMPLETED', ApproximateNumberOfMessagesMoved: 6 });
  });
});

describe('the emulator process', () => {
  it('exits with code 3 and one sentence when its port is in use', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const { port } = blocker.address() as { port: number };

    const child = spawnMain(['--port', String(port)]);
    let stderr = '';
    child.stderr!.on('data', (chunk) => (stderr += String(chunk)));
    const [code] = await once(child, 'close');
    blocker.close();

    expect(code).toBe(3);
    expect(stderr).toBe(`Port ${port} is in use: choose another for SQS with --port.\n`);
  });

  it('refuses a data file that another process has open', async () => {
    const data = join(folder, 'shared.sqlite');
    await startEmulator('--data', data);

    const child = spawnMain(['--data', data]);
    let stderr = '';
    child.stderr!.on('data', (chunk) => (stderr += String(chunk)));
    const [code] = await once(child, 'close');

    expect(code).toBe(1);
    expect(stderr).toMatch(/^SQS cannot start: database is locked/);
  });

  it('answers a waiting long poll and exits with code 0 on SIGTERM', async () => {
    const { child, world } = await startEmulator();
    const url = await world.queue();
    const poll = world.receive(url, { WaitTimeSeconds: 20 });
    await world.receive(url, { WaitTimeSeconds: 1 });

    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');

    expect(code).toBe(0);
    expect(await poll).toEqual([]);
  });
});
