import { describe, expect, it } from 'vitest';
import { type Door, each, openDoors, same, type Wish } from './world.ts';

const { engine, sql, library, text, ask, cli } = await openDoors();
// A plain insert knows only keys that last until their job has finished.
const { 'a plain insert': _, ...functions } = sql;
const all = { ...functions, ...library, ...text };

const jobs = () => engine.sql<{ payload: unknown }>('select payload from millrace.jobs order by id');
/** Inserts both jobs and returns whether they are one, and what is in the table. */
async function both(door: Door, first: Wish, second: Wish) {
  await engine.clear();
  const answers = [await door(first), await door(second)];
  const ids = answers.map((answer) => ('id' in answer ? answer.id : answer.refused));
  return { isOne: ids[0] === ids[1], payloads: (await jobs()).map(({ payload }) => payload) };
}

describe('a unique key', () => {
  it.each<[string, Wish, boolean, unknown[]]>([
    ['skip', { uniqueKey: 'k', onConflict: 'skip' }, true, [1]],
    ['replace', { uniqueKey: 'k', onConflict: 'replace' }, true, [2]],
    ['replace until dispatched', { uniqueKey: 'k', uniqueUntil: 'dispatched', onConflict: 'replace' }, true, [2]],
    ['a period', { uniqueKey: 'k', uniqueFor: '10m' }, true, [1]],
    ['until a dead letter, for a period', { uniqueKey: 'k', uniqueFor: '1h', uniqueUntil: 'dead_letter' }, true, [1]],
    ['the payload as key', { uniqueBy: 'payload' }, false, [1, 2]],
  ])('has the same meaning in every interface: %s', async (_name, options, isOne, payloads) => {
    const answers = await each(all, (door) => both(door, { ...options, payload: '1' }, { ...options, payload: '2' }));

    expect(answers).toEqual(same(all, { isOne, payloads }));
  });

  it('of the payload is that of its value, whichever interface gets it', async () => {
    await engine.clear();
    const answers = await each(all, (door) => door({ uniqueBy: 'payload', payload: '{"b": [1, "x"], "a": 2}' }));
    const { body } = await ask(
      '/jobs',
      '{"job_type": "work", "unique_by": "payload", "payload": {"a":2.0,"b":[1,"x"]}}',
    );

    const id = body.id as string;
    expect(answers).toEqual(same(all, { id }));
    expect(await jobs()).toHaveLength(1);
  });

  it.each<[string, Wish]>([
    ['unique.?for', { uniqueFor: '10m' }],
    ['unique.?until', { uniqueUntil: 'dispatched' }],
    ['on.?conflict', { onConflict: 'replace' }],
    ['unique.?by', { uniqueKey: 'k', uniqueBy: 'payload' }],
    ['unique.?until', { uniqueKey: 'k', uniqueUntil: 'succeeded' as never }],
    ['on.?conflict', { uniqueKey: 'k', onConflict: 'update' as never }],
    ['unique.?by', { uniqueBy: 'id' as never }],
    ['unique.?for', { uniqueKey: 'k', uniqueFor: '366d' }],
  ])('is refused by name in every interface: %s %j', async (name, wish) => {
    await engine.clear();
    const answers = await each(all, (door) => door(wish));

    expect(answers).toEqual(same(all, { refused: expect.stringMatching(new RegExp(name, 'i')) }));
    expect(await jobs()).toEqual([]);
  });
});

describe('the answer', () => {
  it('of the API says that the job was replaced, with 200', async () => {
    await engine.clear();
    const body = (n: number) =>
      JSON.stringify({ job_type: 'work', unique_key: 'k', unique_for: 600, on_conflict: 'replace', payload: n });
    const first = await ask('/jobs', body(1));
    const second = await ask('/jobs', body(2));
    const many = await ask('/jobs/bulk', `{"jobs": [${body(3)}, ${body(4)}]}`);

    expect(first).toMatchObject({ status: 201, body: { deduplicated: false, replaced: false } });
    const { id } = first.body;
    expect(second).toMatchObject({ status: 200, body: { id, deduplicated: true, replaced: true, status: 'pending' } });
    expect(many.body).toMatchObject({ inserted: 0, deduplicated: 2, items: [{ id, replaced: true }, { id }] });
  });

  it('shows the finished or deleted job that holds the key', async () => {
    await engine.clear();
    const body = JSON.stringify({ job_type: 'work', unique_key: 'k', unique_for: '1h' });
    const { id } = (await ask('/jobs', body)).body;
    await engine.sql(`select millrace.finish_late(array[${id}]::bigint[])`);
    const finished = await ask('/jobs', body);
    await engine.sql('delete from millrace.jobs_finished');
    const deleted = await ask('/jobs', body);

    expect(finished).toMatchObject({ status: 200, body: { id, deduplicated: true, status: 'skipped' } });
    expect(deleted).toMatchObject({ status: 200, body: { id, deduplicated: true, replaced: false } });
  });

  it('of the command line says what happened to the job with the key', async () => {
    await engine.clear();
    const flags = ['--unique-key', 'k', '--unique-until', 'dispatched', '--on-conflict', 'replace'];
    const { stdout } = await cli(['enqueue', 'work', '1', ...flags]);
    const { stderr, stdout: same } = await cli(['enqueue', 'work', '2', ...flags]);

    expect(same).toBe(stdout);
    expect(stderr).toContain(
      `job ${stdout.trim()} holds this unique key and was not dispatched yet: it now has this payload and these options`,
    );
  });
});
