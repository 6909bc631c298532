import { afterAll, beforeAll, describe } from 'vitest';
import { type SqsEmulator, startSqs } from '../../local/sqs/server.ts';
import { sqsContract } from './sqs.ts';
import { MINUTE_LONG } from './sqs-minute.ts';
import { OURS, otherServers } from './sqs-servers.ts';
import { createWorld, type World } from './sqs-world.ts';

describe('behaviours that take a minute', { timeout: 90_000 }, () => {
  let emulator: SqsEmulator;
  const servers = [{ name: OURS, endpoint: () => emulator.endpoint }, ...otherServers()];
  const worlds: World[] = [];
  const runs = new Map<string, Promise<void>>();

  beforeAll(async () => {
    emulator = await startSqs();
    // All servers at once; otherwise each would add a minute.
    for (const server of servers) {
      const world = createWorld(server.endpoint());
      worlds.push(world);
      for (const { name, run } of MINUTE_LONG) runs.set(`${server.name}: ${name}`, run(world));
    }
    // The tests await the runs one after another; until then Node must not report a failure as an unhandled rejection.
    void Promise.allSettled(runs.values());
  });
  afterAll(async () => {
    await Promise.all(worlds.map((world) => world.close()));
    await emulator.close();
  });

  for (const server of servers) {
    const awaited = MINUTE_LONG.map(({ name }) => ({ name, run: async () => runs.get(`${server.name}: ${name}`) }));
    sqsContract(server, awaited);
  }
});
