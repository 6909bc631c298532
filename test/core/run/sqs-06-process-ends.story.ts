import { expect, it } from 'vitest';
import { openEffects } from '../../local/lambda/effects-fixture.ts';
import { crash } from '../../support/crash.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';
import { eventually } from '../../support/eventually.ts';

const engine = await openDatabaseEngine({ timeout: '3s' });
const PATIENT = { timeout: 60_000 };
const GROW = 'const all = []; for (;;) { all.push(Buffer.alloc(8e6, 1)); await new Promise((r) => setTimeout(r, 4)); }';

it.concurrent.each<[string, string, string]>([
  ['never ends', 'await new Promise(() => setInterval(() => {}, 1_000));', 'timeout'],
  ['waits for a promise that never settles', 'await new Promise(() => {});', 'exit'],
  ['exits with 0', 'process.exit(0);', 'exit'],
  ['exits with 1', 'process.exit(1);', 'exit'],
  ['allocates until it is killed', GROW, 'out-of-memory'],
])(
  'SQS-06: a worker that %s does not succeed and frees its slot, and other attempts continue',
  async (_, ending, kind) => {
    const effects = await openEffects({
      body: `const [{ body }] = event.Records;
           if (body === 'bad') { ${ending} }
           if (body === 'long') await new Promise((r) => setTimeout(r, 1_500));`,
      spec: { timeoutSeconds: 3, memoryMb: 150 },
      mapping: { batchSize: 1, maximumConcurrency: 2 },
      visibilitySeconds: 120,
    });
    await effects.send(['bad', 'long', 'bad', 'bad', 'good', 'good', 'good']);
    effects.map();

    await eventually(async () => expect(await effects.depth()).toEqual({ visible: 0, inFlight: 3 }), PATIENT);
    await eventually(() => expect(effects.events.filter((event) => event.kind === kind)).toHaveLength(3), PATIENT);

    const bodies = effects.seen().map(({ body, receives }) => `${body}${receives}`);
    expect(bodies.sort()).toEqual(['bad1', 'bad1', 'bad1', 'good1', 'good1', 'good1', 'long1']);
    await effects.close();
  },
);

it('SQS-06: each process that ends counts as an attempt, and after the last one the job is dead', async () => {
  const id = await engine.enqueue({ maxAttempts: 2 });
  const states: { status: string; attempts: number }[] = [];

  for (let attempt = 1; attempt <= 3; attempt++) {
    await engine.dispatch();
    const records = engine.queues.receive(QUEUE);
    if (records.length > 0) await crash(engine, records);
    await engine.advance(60);
    await engine.rescue();
    engine.queues.purge();
    states.push(await engine.state(id));
    await engine.advance(120);
  }

  expect(engine.runs).toEqual([id, id]);
  expect(states).toMatchObject([
    {
      status: 'failed',
      attempts: 1,
      last_error: expect.stringMatching(/^its process did not report back within \d+ s: /),
    },
    {
      status: 'dead_letter',
      attempts: 2,
      last_error: expect.stringMatching(/^its process did not report back within \d+ s: /),
    },
    { status: 'dead_letter', attempts: 2 },
  ]);
});
