import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

it('ERR-01: a NUL in an error message fails that job with readable text, and the other nine succeed', async () => {
  const { ids, records } = await engine.deliver(10);
  engine.work = ({ jobId }) => {
    if (jobId === ids[3]) throw new Error('bad \u0000 byte');
  };

  const ran = await engine.run(records);

  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(ran.failed).toEqual([]);
  expect(states[3]).toMatchObject({ status: 'failed', attempts: 1, last_error: 'bad \u2400 byte' });
  expect(states[3]!.due_in).toBeGreaterThan(50);
  expect(states.filter(({ status }) => status === 'succeeded')).toHaveLength(9);
});

it('ERR-03: a message of five megabytes is cut with a mark, listed, and logged in short', async () => {
  const LONG = `needle ${'x'.repeat(5_000_000)}`;
  engine.work = () => {
    throw new Error(LONG);
  };
  for (let batch = 0; batch < 20; batch++) await engine.run((await engine.deliver(10)).records);

  const listed = await engine.sql<{ length: number; last_error: string }>(
    `select length(last_error), last_error from millrace.jobs where status = 'failed' and last_error ilike '%needle%'
      order by id desc`,
  );
  const stacks = await engine.sql<{ length: number }>(
    'select max(length(error_stacktrace)) as length from millrace.job_attempts',
  );

  expect(listed).toHaveLength(200);
  expect(listed[0]!.last_error).toMatch(/^needle x+… \(cut, 5000007 characters in all\)$/);
  expect(Math.max(...listed.map(({ length }) => length))).toBe(8_000);
  expect(stacks[0]!.length).toBeLessThanOrEqual(32_000);
  expect(Math.max(...engine.lines.map((line) => JSON.stringify(line).length))).toBeLessThan(10_000);
});

const THROWN: [string, () => Promise<never>, string][] = [
  ['undefined', () => Promise.reject(undefined), 'undefined was thrown'],
  ['null', () => Promise.reject(null), 'null was thrown'],
  ['"text"', () => Promise.reject('text'), 'text was thrown'],
  ['0', () => Promise.reject(0), '0 was thrown'],
  ['{}', () => Promise.reject({}), '{} was thrown'],
  ['Symbol("s")', () => Promise.reject(Symbol('s')), 'Symbol(s) was thrown'],
  ['nothing', () => Promise.reject(), 'undefined was thrown'],
];

it('ERR-04: a thrown value that is not an Error fails its job with text that describes it', async () => {
  const { ids, records } = await engine.deliver(THROWN.length);
  engine.work = ({ jobId }) => THROWN[ids.indexOf(jobId)]![1]();

  const ran = await engine.run(records);

  const states = await Promise.all(ids.map((id) => engine.state(id)));
  expect(ran.failed).toEqual([]);
  expect(states.map(({ status }) => status)).toEqual(THROWN.map(() => 'failed'));
  expect(states.map(({ last_error }) => last_error)).toEqual(
    THROWN.map(([, , text]) => `${text}, which is not an Error`),
  );
});

it('ERR-01, ERR-03, ERR-04: any thrown or returned value is stored, in any batch', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.string({ unit: 'binary', maxLength: 20 }).map((part) => part.repeat(2_000)),
    fc.constantFrom('\0', '\ud83d', '\\u0000', '\\', '"\\ud83d"'),
  );
  const error = fc.record({ message: text, name: text, stack: text, code: text, cause: fc.anything() });
  const thrown = fc.oneof(
    error.map((fields) => ({ thrown: Object.assign(new Error(), fields) as unknown })),
    fc.anything({ withBigInt: true, withNullPrototype: true }).map((value) => ({ thrown: value })),
  );
  const returned = fc
    .oneof(text, fc.anything({ withBigInt: true }), fc.object({ key: text }))
    .map((value) => ({ value }));
  const ending = fc.oneof(thrown, returned);
  await fc.assert(
    fc.asyncProperty(fc.array(ending, { minLength: 1, maxLength: 10 }), async (endings) => {
      engine.queues.purge();
      const { ids, records } = await engine.deliver(endings.length);
      engine.work = ({ jobId }) => {
        const end = endings[ids.indexOf(jobId)]!;
        if ('thrown' in end) throw end.thrown;
        return end.value;
      };

      const ran = await engine.run(records);

      const states = await Promise.all(ids.map((id) => engine.state(id)));
      expect(ran).toMatchObject({ failed: [], exited: false });
      expect(states.map(({ status }) => status)).toEqual(
        endings.map((end) => ('thrown' in end ? 'failed' : 'succeeded')),
      );
    }),
    { numRuns: 20 },
  );
});
