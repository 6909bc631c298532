import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually, type World } from '../../../contract/sqs-world.ts';
import { endEmulators, killEmulator, startEmulator } from '../emulator-process.ts';

const MESSAGES = 1500;
const KILLS = 3;
// Slow enough for the kills to happen during the move, even on a loaded machine.
const RATE = 250;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sqs-'));
});
afterEach(endEmulators);
afterAll(() => rm(folder, { recursive: true }));

async function sendMany(world: World, QueueUrl: string): Promise<void> {
  for (let first = 0; first < MESSAGES; first += 10) {
    const Entries = Array.from({ length: 10 }, (_, index) => ({ Id: `${index}`, MessageBody: `m${first + index}` }));
    await world.sqs.sendMessageBatch({ QueueUrl, Entries });
  }
}

async function drain(world: World, url: string): Promise<string[]> {
  const all: string[] = [];
  for (let some = await world.bodies(url); some.length > 0; some = await world.bodies(url)) all.push(...some);
  return all;
}

describe('a move task whose emulator is killed repeatedly', () => {
  it('moves every message once', async () => {
    const data = join(folder, 'moves.sqlite');
    let { world, ...running } = await startEmulator('--data', data);
    const { dlq, dlqArn } = await world.pair(1);
    const target = await world.queue();
    await sendMany(world, dlq);
    await world.sqs.startMessageMoveTask({
      SourceArn: dlqArn,
      DestinationArn: await world.arn(target),
      MaxNumberOfMessagesPerSecond: RATE,
    });

    const movedAtKill: number[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = movedAtKill.at(-1) ?? 0;
      const [moved] = await eventually(
        () => world.depth(target),
        ([visible]) => visible > before,
        20,
      );
      await killEmulator({ world, ...running });
      ({ world, ...running } = await startEmulator('--data', data));
      movedAtKill.push(moved);
    }
    const task = await eventually(
      async () => (await world.sqs.listMessageMoveTasks({ SourceArn: dlqArn })).Results?.[0],
      (newest) => newest?.Status !== 'RUNNING',
      20,
    );

    expect(movedAtKill[0]).toBeLessThan(MESSAGES);
    expect(task).toMatchObject({ Status: 'COMPLETED', ApproximateNumberOfMessagesMoved: MESSAGES });
    expect(await world.depth(dlq)).toEqual([0, 0, 0]);
    const bodies = await drain(world, target);
    expect([bodies.length, new Set(bodies).size]).toEqual([MESSAGES, MESSAGES]);
  });
});
