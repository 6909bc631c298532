import { describe, expect, it } from 'vitest';
import { enqueue, enqueueMany } from '../../core/enqueue/enqueue.ts';
import { messageOf } from '../../core/failure.ts';
import { QUEUE } from '../support/database-engine.ts';
import { each, openDoors, same, type Wish } from './world.ts';

const { engine, sql, library, text, cli } = await openDoors();
const all = { ...sql, ...library, ...text };
const withDurations = { ...library, ...text };

const RUN_AT = '2030-01-31T12:00:00.000Z';

async function startByOf(id: string): Promise<string | undefined> {
  const rows = await engine.sql<{ start_by: Date }>('select start_by from millrace.jobs where id = $1', [id]);
  return rows[0]?.start_by?.toISOString();
}

/** Enqueues one job that must start within ten minutes, and claims it. */
async function deliverOne(startBy = '10 minutes') {
  const rows = await engine.sql<{ id: string }>(
    `select id::text from millrace.enqueue('work', start_by => millrace.clock() + $1::interval)`,
    [startBy],
  );
  await engine.dispatch();
  return { id: rows[0]!.id, records: engine.queues.receive(QUEUE, 10) };
}

describe('start_by', () => {
  it('has the same meaning in every interface', async () => {
    const wish: Wish = { runAt: RUN_AT, startBy: '2030-01-31T12:10:00.000Z' };

    const answers = await each(all, async (door) => {
      const answer = await door(wish);
      return 'refused' in answer ? answer.refused : startByOf(answer.id);
    });

    expect(answers).toEqual(same(all, '2030-01-31T12:10:00.000Z'));
  });

  it.each([
    ['10m', '2030-01-31T12:10:00.000Z'],
    ['0s', RUN_AT],
    ['2d', '2030-02-02T12:00:00.000Z'],
  ])('counts the duration %s from the run time', async (startBy, stored) => {
    const answers = await each(withDurations, async (door) => {
      const answer = await door({ runAt: RUN_AT, startBy });
      return 'refused' in answer ? answer.refused : startByOf(answer.id);
    });

    expect(answers).toEqual(same(withDurations, stored));
  });

  it.each([
    ['infinity', 'start_by is in the years 1 to 9999'],
    ['10000-01-01T00:00:00Z', 'start_by is in the years 1 to 9999'],
    ['2030-13-01T00:00:00Z', 'date/time field value out of range'],
  ])('is refused with its name and a reason by every interface: %s', async (startBy, ofDatabase) => {
    const answers = await each(all, (door) => door({ startBy }));

    for (const [name, answer] of Object.entries(answers)) {
      const sentence = name in sql ? ofDatabase : /start.?by.*expected a (valid Date|time)/is;
      expect(answer, name).toEqual({ refused: expect.stringMatching(sentence) });
    }
  });

  it.each(['2030-01-31T11:59:59Z', '2026-01-01T00:00:00Z'])(
    'is refused by every interface when it is before the run time, which the error calls as the caller does: %s',
    async (startBy) => {
      // A plain insert cannot tell a run time from the default.
      const { 'a plain insert': _, ...functions } = all;

      const answers = await each(functions, (door) => door({ runAt: RUN_AT, startBy }));

      for (const [name, answer] of Object.entries(answers)) {
        const runAt = name.startsWith('millrace ')
          ? '--at'
          : name.startsWith('enqueue') && !(name in sql)
            ? 'runAt'
            : 'run_at';
        expect(answer, name).toEqual({
          refused: expect.stringMatching(new RegExp(`start.?by.*before ${runAt}`, 'is')),
        });
      }
    },
  );

  it('is refused when it is before the end of the delay', async () => {
    const { pool } = engine.database;
    const options = { delay: '10m', startBy: new Date(Date.now() + 60_000) };
    const handler = engine.definition;

    const items = [
      { handler, payload: {} },
      { handler, payload: {}, ...options },
    ];

    const one = await enqueue(pool, handler, {}, options).catch(messageOf);
    const many = await enqueueMany(pool, items).catch(messageOf);
    const typed = await cli(['enqueue', 'work', '--in', '10m', '--start-by', options.startBy.toISOString()]);

    expect(one).toBe('startBy: expected a time that is not before the run time that delay sets');
    expect(many).toContain('job 1: start_by is before run_at');
    expect(typed).toMatchObject({ code: 2, stderr: expect.stringContaining('start-by is before the end of --in') });
  });

  it('is accepted without a run time when it has passed, with a warning of the command', async () => {
    const answers = await each(all, (door) => door({ startBy: '2026-01-01T00:00:00Z' }));
    const { code, stderr } = await cli(['enqueue', 'work', '--start-by', '2026-01-01']);

    expect(Object.values(answers)).toEqual(Object.values(answers).map(() => ({ id: expect.any(String) })));
    expect([code, stderr]).toEqual([0, expect.stringContaining('--start-by is in the past: the job will be skipped')]);
  });

  it.each(['40000d'])('is refused when no start can meet it: %s', async (startBy) => {
    const answers = await each(withDurations, (door) => door({ runAt: RUN_AT, startBy }));

    for (const [name, answer] of Object.entries(answers)) {
      expect(answer, name).toEqual({ refused: expect.stringMatching(/start.?by/i) });
    }
  });
});

it('shows the time until the job has started', async () => {
  const { id, records } = await deliverOne();
  const before = JSON.parse((await cli(['jobs', 'show', id, '--json'])).stdout);
  await engine.run(records);
  const after = JSON.parse((await cli(['jobs', 'show', id, '--json'])).stdout);

  expect(Date.parse(before.start_by) - Date.parse(before.run_at)).toBe(600_000);
  expect(after.start_by).toBeNull();
});
