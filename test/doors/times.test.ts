import { describe, expect, it } from 'vitest';
import { each, openDoors, same } from './world.ts';

const { engine, sql, library, text, ask } = await openDoors();
const all = { ...sql, ...library, ...text };

const TOO_FAR = 'run_at is in the years 1 to 9999';
const OUT_OF_RANGE = 'date/time field value out of range';

describe('a time', () => {
  it.each([
    '2030-01-31T12:00:00Z',
    '2030-01-31T12:00:00.5+05:30',
    '2028-02-29T00:00:00-15:59',
    '1969-12-31T23:59:59Z',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999Z',
  ])('has the same meaning in every interface: %s', async (runAt) => {
    const answers = await each(all, async (door) => {
      const answer = await door({ runAt });
      if ('refused' in answer) return answer.refused;
      const [row] = await engine.sql<{ ms: number }>(
        'select (extract(epoch from run_at) * 1000)::float8 as ms from millrace.jobs where id = $1',
        [answer.id],
      );
      return row?.ms;
    });

    expect(answers).toEqual(same(all, Date.parse(runAt)));
  });

  it.each([
    ['infinity', TOO_FAR],
    ['-infinity', TOO_FAR],
    ['10000-01-01T00:00:00Z', TOO_FAR],
    ['294276-12-31T23:59:59Z', TOO_FAR],
    ['9999-12-31T23:59:59-01:00', TOO_FAR],
    ['0001-01-01T00:00:00+00:01', TOO_FAR],
    ['0000-12-31T23:59:59Z', OUT_OF_RANGE],
    ['2030-13-01T00:00:00Z', OUT_OF_RANGE],
  ])('is refused with a reason by every interface: %s', async (runAt, ofDatabase) => {
    const answers = await each(all, (door) => door({ runAt }));

    for (const [name, answer] of Object.entries(answers)) {
      const sentence = name in sql ? ofDatabase : /expected a (valid Date|time).*/i;
      expect(answer, name).toEqual({ refused: expect.stringMatching(sentence) });
    }
    expect(await engine.sql('select id from millrace.jobs')).toEqual([]);
  });

  it.each([
    ['2030-01-31T12:00:00.5%2B05:30', 200],
    ['0001-01-01T00:00:00Z', 200],
    ['9999-12-31T23:59:59.999Z', 200],
    ['0000-12-31T23:59:59Z', 422],
    ['0001-01-01T00:00:00%2B00:01', 422],
    ['9999-12-31T23:59:59-00:01', 422],
    ['%2B010000-01-01T00:00:00Z', 422],
    ['infinity', 422],
  ])('has the same bounds in a filter: %s', async (time, expected) => {
    for (const path of [`/admin/jobs?created_from=${time}`, `/admin/dlq?since=${time}`]) {
      const { status, text: answer } = await ask(path);
      expect({ path, status, answer }).toMatchObject({ status: expected });
    }
  });

  it.each([
    '2030-02-30T00:00:00Z',
    '2030-01-31T24:00:00Z',
    '2030-01-31T12:00:60Z',
    '2030-01-31T12:00:00',
    '2030-01-31T12:00:00+24:00',
    '2030-01-31 12:00:00Z',
    'tomorrow',
  ])('is refused as text unless it is of RFC 3339: %s', async (runAt) => {
    const answers = await each(text, (door) => door({ runAt }));

    expect(answers).toEqual(same(text, { refused: expect.stringMatching(/expected a time/i) }));
  });
});
