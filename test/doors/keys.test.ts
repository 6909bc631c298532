import { describe, expect, it } from 'vitest';
import { each, openDoors, same, type Wish } from './world.ts';

const { engine, sql, library, text, cli } = await openDoors();
const all = { ...sql, ...library, ...text };

describe.each(['uniqueKey', 'groupKey'] as const)('%s', (field) => {
  it.each([
    ['500 of the longest characters', '😀'.repeat(500)],
    ['one character', 'k'],
    ['text at the edges of Unicode', '\ufeff\ufffe\uffff\u{10ffff}\u0085\n'],
  ])('has the same meaning in every interface: %s', async (_name, key) => {
    const answers = await each(all, async (door) => {
      await engine.clear();
      const answer = await door({ [field]: key });
      if ('refused' in answer) return answer.refused;
      const [row] = await engine.sql<Wish>(
        'select unique_key as "uniqueKey", group_key as "groupKey" from millrace.jobs',
      );
      return row?.[field];
    });

    expect(answers).toEqual(same(all, key));
  });

  it.each([
    ['no character', ''],
    ['501 characters', 'k'.repeat(501)],
    ['501 of the longest characters', '😀'.repeat(501)],
  ])('is refused with a reason by every interface: %s', async (_name, key) => {
    const answers = await each(all, (door) => door({ [field]: key }));

    expect(answers).toEqual(
      same(all, { refused: expect.stringMatching(/1 to 500 characters|at (least|most) \w+ char/) }),
    );
    expect(await engine.sql('select id from millrace.jobs')).toEqual([]);
  });
});

describe('a number', () => {
  it.each<[string, Wish]>([
    ['priority', { priority: -1 }],
    ['priority', { priority: 10 }],
    ['priority', { priority: 99_999 }],
    ['max.?attempts', { maxAttempts: 0 }],
    ['max.?attempts', { maxAttempts: 1001 }],
  ])('of %s is refused by every interface, by name: %j', async (name, wish) => {
    const answers = await each(all, (door) => door(wish));

    const refused = expect.stringMatching(new RegExp(`${name}|smallint`, 'i'));
    expect(answers).toEqual(same(all, { refused }));
    expect(await engine.sql('select id from millrace.jobs')).toEqual([]);
  });
});

describe('a job type', () => {
  it.each(['index__record', 'work__', 'a___b'])(
    'with two underscores is refused at every door by name: %s',
    async (jobType) => {
      const answers = await each(all, (door) => door({ jobType }));

      const refused = expect.stringMatching(/job.?type.*__/is);
      expect(answers).toEqual(same(all, { refused }));
      expect(await engine.sql('select id from millrace.jobs')).toEqual([]);
    },
  );

  it('with one underscore at the end is accepted in SQL and by the library', async () => {
    const doors = { ...sql, ...library };

    const answers = await each(doors, (door) => door({ jobType: 'a_b_' }));

    expect(answers).toEqual(same(doors, { id: expect.stringMatching(/^\d+$/) }));
    await engine.clear();
  });
});

describe('text that the shell did not pass as UTF-8', () => {
  it.each([
    ['a payload', ['work', '{"note":"caf\ufffd"}']],
    ['a key', ['work', '--unique-key', 'caf\ufffd']],
    ['a job type', ['caf\ufffd']],
  ])('is refused at the command line: %s', async (_name, args) => {
    const { code, stderr } = await cli(['enqueue', ...args]);

    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(' is not UTF-8 text') });
  });

  it('is refused in statements on standard input', async () => {
    const { code, stderr } = await cli(['sql'], Buffer.from("select 'caf\xe9'", 'latin1'));

    expect({ code, stderr }).toEqual({ code: 2, stderr: 'error: standard input is not UTF-8 text\n' });
  });
});
