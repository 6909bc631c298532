import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { enqueue } from '../../../core/enqueue/enqueue.ts';
import { defineHandler } from '../../../core/handler/handler.ts';
import { createClient } from '../../support/database.ts';
import { createLogin, openEngine } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const login = await createLogin(engine.test, 'millrace_app');
const app = new pg.Pool({ connectionString: login.url, max: 50 });
app.on('error', () => undefined);
const invoice = defineHandler({ jobType: 'invoice', payload: z.looseObject({}), run: async () => undefined });
afterAll(async () => {
  await app.end();
  await engine.close();
  await login.drop();
});

beforeEach(async () => {
  await engine.pool.query('delete from millrace.jobs_live');
});

interface Answer {
  id: string;
  deduplicated: boolean;
}
const bySql = async (key: string): Promise<Answer> =>
  (await app.query(`select * from millrace.enqueue('invoice', '{}', unique_key => $1)`, [key])).rows[0];
const byLibrary = (key: string): Promise<Answer> => enqueue(app, invoice, {}, { uniqueKey: key });
const stored = async () => (await engine.pool.query('select id, unique_key from millrace.jobs_live order by id')).rows;

describe('UNQ-01', () => {
  it('fifty concurrent callers with the key invoice-7 enqueue one job, and all receive its id', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? bySql('invoice-7') : byLibrary('invoice-7'))),
    );

    const [job, ...others] = await stored();
    expect(others).toEqual([]);
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([job.id]));
    expect(answers.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
  });

  it('concurrent callers enqueue one job for each key, and only the first caller inserts it', async () => {
    const keys = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }).map(clean), {
      minLength: 1,
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(keys, async (wanted) => {
        await engine.pool.query('delete from millrace.jobs_live');

        const answers = await Promise.all(wanted.map((key, n) => (n % 2 === 0 ? bySql(key) : byLibrary(key))));

        const ids = new Map((await stored()).map(({ id, unique_key }) => [unique_key, id]));
        expect(ids.size).toBe(new Set(wanted).size);
        expect(answers.map(({ id }) => id)).toEqual(wanted.map((key) => ids.get(key)));
        expect(answers.filter(({ deduplicated }) => !deduplicated)).toHaveLength(ids.size);
      }),
      { numRuns: 10 },
    );
  });

  it('a caller waits for an uncommitted insert of its key, and inserts after a rollback', async () => {
    const first = await createClient(login.url);
    await first.query('begin');
    const { rows } = await first.query<Answer>(`select * from millrace.enqueue('invoice', unique_key => 'k')`);

    const waiting = [bySql('k'), bySql('k'), byLibrary('k')];
    await first.query('rollback');
    const answers = await Promise.all(waiting);

    const [job] = await stored();
    expect(job.id).not.toBe(rows[0]!.id);
    expect(answers.map(({ id }) => id)).toEqual([job.id, job.id, job.id]);
    expect(answers.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
  });

  it('a caller inserts when the job with its key finishes in the meantime', async () => {
    const { id } = await bySql('k');
    const ending = await createClient(engine.test.url);
    await ending.query('begin');
    await ending.query('select millrace.cancel($1)', [id]);

    const waiting = bySql('k');
    await ending.query('commit');
    const answer = await waiting;

    expect(answer.deduplicated).toBe(false);
    expect(answer.id).not.toBe(id);
  });
});

function clean(text: string): string {
  return text.replaceAll('\0', '0').toWellFormed();
}
