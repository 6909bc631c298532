import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { payloadJson } from '../../../core/handler/payload.ts';
import { openDatabaseEngine, QUEUE } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

/** Inserts JSON texts with SQL, runs the jobs, and returns the handler's payloads or the errors. */
async function through(texts: readonly string[]) {
  engine.queues.purge();
  const rows = await engine.sql<{ id: string }>(
    `insert into millrace.jobs (job_type, payload)
      select 'work', t::jsonb from unnest($1::text[]) t returning id::text`,
    [texts],
  );
  const got = new Map<string, unknown>();
  engine.work = ({ jobId, payload }) => void got.set(jobId, payload);
  await engine.dispatch();
  for (let records = engine.queues.receive(QUEUE); records.length > 0; records = engine.queues.receive(QUEUE)) {
    await engine.run(records.filter(({ attributes }) => attributes?.ApproximateReceiveCount === '1'));
  }
  const states = await Promise.all(rows.map(({ id }) => engine.state(id)));
  return rows.map(({ id }, n) => ({ ...states[n]!, got: got.get(id) }));
}

it('PAY-01: text that Postgres accepts reaches the handler and the result unchanged', async () => {
  const { ids, records } = await engine.deliver(1, { payload: { note: 'ok 😀' } });
  engine.work = ({ payload }) => payload;

  await engine.run(records);

  expect(await engine.state(ids[0]!)).toMatchObject({ status: 'succeeded', result: { note: 'ok 😀' } });
});

it.each(['{"note":"ab\\u0000cd"}', '{"note":"x\\ud83d"}'])('PAY-01: the database itself refuses %s', async (json) => {
  const insert = engine.sql("insert into millrace.jobs (job_type, payload) values ('work', $1)", [json]);

  await expect(insert).rejects.toThrow(/unsupported Unicode escape sequence|invalid input syntax for type json/);
});

it('PAY-04: a number that would change makes a dead letter that names it', async () => {
  const [exact, huge, big] = await through([
    '{"p":1.10,"n":9007199254740992}',
    '{"e":1e400,"p":1.10}',
    '{"n":9007199254740993,"e":1,"p":1.10}',
  ]);

  expect(exact).toMatchObject({ status: 'succeeded', got: { p: 1.1, n: 9_007_199_254_740_992 } });
  expect(huge).toMatchObject({ status: 'dead_letter', attempts: 1 });
  expect(huge!.last_error).toMatch(/^payload\/e: 10{39}… is not exact as a JavaScript number: enqueue it as a string$/);
  expect(big!.last_error).toBe(
    'payload/n: 9007199254740993 is not exact as a JavaScript number: enqueue it as a string',
  );
  const dead = await engine.sql("select last_error from millrace.dead_letters where status = 'open' order by job_id");
  expect(dead).toEqual([{ last_error: huge!.last_error }, { last_error: big!.last_error }]);
});

it('PAY-04: the stored digits are the inserted ones', async () => {
  const [job] = await engine.sql<{ id: string }>(
    `insert into millrace.jobs (job_type, payload) values ('work', '{"n":9007199254740993,"e":1e400,"p":1.10}')
      returning id`,
  );

  const [stored] = await engine.sql<{ text: string }>('select payload::text as text from millrace.jobs where id = $1', [
    job!.id,
  ]);

  expect(stored!.text).toBe(`{"e": 1${'0'.repeat(400)}, "n": 9007199254740993, "p": 1.10}`);
});

it.each([
  ['/b', { d: new Date(0), b: 10n }],
  ['/m', { d: new Date(0), m: new Map([[1, 2]]) }],
  ['/x', { d: new Date(0), x: Number.NaN }],
  ['/later', { later: Promise.resolve(1) }],
  ['/r', { r: /x/ }],
  ['/deep/n', { deep: { toJSON: () => ({ n: 10n }) } }],
  ['/text', { text: { toJSON: () => 'a\0b' } }],
])('PAY-04: enqueue refuses a value that JSON would lose, and names it: %s', (field, payload) => {
  expect(() => payloadJson(payload)).toThrow(expect.objectContaining({ name: 'PayloadInvalid', field }));
});

it('PAY-04: a value with toJSON is stored as its result', () => {
  class Point {
    x = 1;
    toJSON() {
      return this;
    }
  }

  const json = payloadJson({ at: new Date(0), url: new URL('https://example.com/a'), point: new Point() });

  expect(JSON.parse(json)).toEqual({
    at: '1970-01-01T00:00:00.000Z',
    url: 'https://example.com/a',
    point: { x: 1 },
  });
});

it('PAY-04: every payload that JavaScript can enqueue reaches the handler unchanged', async () => {
  const number = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.maxSafeInteger(),
    fc.constantFrom(1e23, 2 ** 63),
  );
  const text = fc.string({ unit: 'grapheme' });
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, number, text, fc.boolean(), fc.constant(null), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 4 }),
    object: fc.dictionary(text, tie('value'), { maxKeys: 4 }),
  }));
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 10 }), async (values) => {
      const texts = values.map((one) => payloadJson({ one }));

      const jobs = await through(texts);

      expect(jobs.map(({ got }) => got)).toEqual(texts.map((json) => JSON.parse(json)));
    }),
    { numRuns: 25 },
  );
});

it('PAY-04: whole numbers inserted with SQL reach the handler exactly, or make dead letters', async () => {
  const whole = fc.oneof(
    fc.bigInt(),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
    fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 9n }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(whole, { minLength: 1, maxLength: 20 }), async (numbers) => {
      const jobs = await through(numbers.map((n) => `{"n": ${n}}`));

      for (const [index, job] of jobs.entries()) {
        if (job.status === 'dead_letter') {
          expect(job.last_error).toMatch(/is not exact as a JavaScript number/);
          expect(BigInt(Number(numbers[index]))).not.toBe(numbers[index]);
        } else {
          const { n } = z.object({ n: z.number() }).parse(job.got);
          // The value itself, or the one that JavaScript writes, as for 1e23.
          const written = n.toLocaleString('fullwide', { useGrouping: false });
          expect([BigInt(n), BigInt(written)]).toContain(numbers[index]);
        }
      }
    }),
    { numRuns: 15 },
  );
});

it('PAY-04: a job with the deepest payload that Postgres accepts is settled', async () => {
  const [job] = await through([`{"deep": ${'['.repeat(3_000)}${']'.repeat(3_000)}}`]);

  expect(['succeeded', 'dead_letter', 'failed']).toContain(job!.status);
});

it('PAY-06: large payloads do not enlarge messages, and a payload that is too large is refused', async () => {
  const wide = JSON.stringify({ text: '€'.repeat(60_000) });
  const tooLarge = JSON.stringify({ text: 'x'.repeat(1_200_000) });
  const insert = engine.sql("insert into millrace.jobs (job_type, payload) values ('work', $1)", [tooLarge]);

  await expect(insert).rejects.toThrow(/payload is at most 1 MiB/);
  const jobs = await through([...Array<string>(10).fill(wide), '{"small": true}']);

  expect(() => payloadJson({ text: 'x'.repeat(1_200_000) })).toThrow(
    /has 1200012 bytes, more than the limit of 1048576/,
  );
  expect(jobs.map(({ status }) => status)).toEqual(Array(11).fill('succeeded'));
  expect(jobs.map(({ got }) => JSON.stringify(got).length)).toEqual([...Array(10).fill(wide.length), 14]);
});
