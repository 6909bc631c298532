import { beforeAll, describe, expect, it } from 'vitest';
import { chooseGroup } from '../../core/dead-letters/find-group.ts';
import { openBothWays } from '../cli/backend/api-world.ts';

const { pool, ask, byApi, byDatabase } = await openBothWays();

const ALONE = '7f3ac01b6f22f6ab68be06d99b59bc3b';
const TWINS = ['abcd1234aa2f52f03e5d5ac0c6b1a1b4', 'abcd1234bb2f52f03e5d5ac0c6b1a1b4'];

beforeAll(async () => {
  await pool.query(
    `with buried as (
       insert into millrace.jobs_live (job_type, status, attempts, max_attempts, claim_no, last_error)
         select 'mail', 'dead_letter', 5, 5, 7, f from unnest($1::text[]) f returning id, last_error)
     insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, fingerprint)
       select id, 7, 'mail', '', last_error, last_error from buried`,
    [[ALONE, ...TWINS]],
  );
});

const DIGITS = '82359104aa2f52f03e5d5ac0c6b1a1b4';

const post = (path: string, group: string) => ask(path, { method: 'POST', body: { group } });

describe('the first characters of one error group', () => {
  it.each([[ALONE.slice(0, 8)], ['7f3a'], [ALONE], [TWINS[1]!.slice(0, 9)]])(
    'show it over the API: %s',
    async (group) => {
      const shown = await ask(`/admin/dlq/groups/${group}`);
      const listed = await ask(`/admin/dlq?group=${group}`);

      expect(shown).toMatchObject({ status: 200, body: { jobs: 1 } });
      expect(shown.body.fingerprint.startsWith(group)).toBe(true);
      expect(listed.body.items.map((item: { fingerprint: string }) => item.fingerprint)).toEqual([
        shown.body.fingerprint,
      ]);
    },
  );

  it('select it for a preview of a redrive or a discard', async () => {
    const redrive = await post('/admin/redrives?dry_run=true', '7f3ac01b');
    const discard = await post('/admin/dlq/discard?dry_run=true', '7f3a');

    expect([redrive.body.total, discard.body.matched]).toEqual([1, 1]);
  });

  it('are stored as the whole fingerprint by a redrive, so that it moves no group which appears later', async () => {
    const started = await post('/admin/redrives', '7f3ac01b');
    await pool.query(`select millrace.start_redrive('{"group": "7f3a"}')`);
    const stored = await pool.query(`select filter ->> 'group' as "group" from millrace.operations`);

    expect(started).toMatchObject({ status: 202, body: { filter: { group: ALONE } } });
    expect(stored.rows).toEqual([{ group: ALONE }, { group: ALONE }]);
  });
});

describe('the first characters of two error groups', () => {
  const sentence = 'more than one group begins with abcd1234: abcd1234a, abcd1234b';

  it.each([
    ['path /fingerprint', () => ask('/admin/dlq/groups/abcd1234')],
    ['query /group', () => ask('/admin/dlq?group=abcd1234')],
    ['body /group', () => post('/admin/redrives', 'abcd1234')],
    ['body /group', () => post('/admin/redrives?dry_run=true', 'abcd1234')],
    ['body /group', () => post('/admin/dlq/discard', 'abcd1234')],
  ])('are refused by the API, which names the groups (%s)', async (place, request) => {
    const { status, body } = await request();

    expect({ status, detail: body.detail }).toEqual({ status: 422, detail: `${place}: ${sentence}` });
  });

  it.each([
    [['dlq', 'show', 'abcd1234']],
    [['dlq', 'list', '--group', 'abcd1234']],
    [['dlq', 'export', '--group', 'abcd1234']],
    [['dlq', 'discard', '--group', 'abcd1234', '--yes']],
    [['redrive', '--group', 'abcd1234', '--dry-run']],
  ])('are refused by the command line, with and without the API: %j', async (args) => {
    const answers = [await byDatabase(args), await byApi(args)];

    expect(answers.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      [1, 2].map(() => ({ code: 2, stderr: `error: ${sentence}\n` })),
    );
  });

  it('are refused by millrace.start_redrive', async () => {
    const starting = pool.query(`select millrace.start_redrive('{"group": "abcd1234"}')`);

    await expect(starting).rejects.toThrow(`group: more than one group begins with abcd1234: ${TWINS.join(', ')}`);
  });

  it('are all listed by GET /admin/dlq/groups', async () => {
    const { body } = await ask('/admin/dlq/groups?group=abcd1234');

    expect(body).toMatchObject({ groups: 2 });
  });
});

const REFUSED = 'expected at least the first 4 characters of a fingerprint';

describe('fewer than 4 characters of an error group', () => {
  it.each([
    ['query', () => ask('/admin/dlq?group=7f3')],
    ['path', () => ask('/admin/dlq/groups/7f3')],
    ['body', () => post('/admin/redrives', '7f3')],
  ])('are refused by the API in the %s', async (_place, request) => {
    const { status, body } = await request();

    expect(status).toBe(422);
    expect(body.detail).toContain(REFUSED);
  });

  it.each([[['dlq', 'show', '7f3']], [['dlq', 'show', '--group', '7f3']], [['dlq', 'list', '--group', '7f3']]])(
    'are refused by the command line: %j',
    async (args) => {
      const { code, stderr } = await byDatabase(args);

      expect(code).toBe(2);
      expect(stderr.toLowerCase()).toContain(REFUSED.replace('expected ', ''));
    },
  );

  it('are refused by millrace.start_redrive', async () => {
    await expect(pool.query(`select millrace.start_redrive('{"group": "7f3"}')`)).rejects.toThrow(REFUSED);
  });
});

describe('dlq show', () => {
  it.each([[ALONE.slice(0, 4)], [ALONE.slice(0, 7)], ['8235'], ['8235910'], ['82359104']])(
    'shows the group that begins with %s',
    async (beginning) => {
      await pool.query(
        `insert into millrace.dead_letters (raw_body, last_error, fingerprint, queue_name, message_id)
           values ('{{', 'unreadable', $1, 'mail-dlq', gen_random_uuid()::text)`,
        [DIGITS],
      );

      const answers = [await byDatabase(['dlq', 'show', beginning]), await byApi(['dlq', 'show', beginning])];

      for (const { code, stdout } of answers) {
        expect(code).toBe(0);
        expect(stdout).toContain(`group\t${beginning.startsWith('8') ? DIGITS : ALONE}\n`);
      }
    },
  );
});

it('answers 404 for the first characters of no group', async () => {
  const { status, body } = await ask('/admin/dlq/groups/ffff0000');

  expect({ status, detail: body.detail }).toEqual({ status: 404, detail: 'no open dead letter has this fingerprint' });
});

it('chooses a whole fingerprint even if another begins with it, and names at most five candidates', () => {
  const many = Array.from({ length: 6 }, (_, index) => `abc${index}000000`);

  expect(chooseGroup('abc', ['abc', 'abcd'])).toEqual({ fingerprint: 'abc' });
  expect(chooseGroup('abc', many)).toMatchObject({
    fault: 'more than one group begins with abc: abc00000, abc10000, abc20000, abc30000, abc40000 and more',
  });
});
