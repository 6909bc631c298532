import { expect, it } from 'vitest';
import { openBothWays } from './api-world.ts';

const { pool, byApi, byDatabase } = await openBothWays();

/** A payload with digits that JavaScript loses, and characters that could confuse a parser. */
const PAYLOAD = String.raw`{"n": 12345678901234567890.10, "list": [1, {"id": "no"}], "text": "a \"quoted\", {odd} [one]: \\"}`;

const INSERT = `
  insert into millrace.jobs_live
      (job_type, payload, status, attempts, max_attempts, claim_no, next_retry_at, lease_expires_at, last_error, result,
       started_at, dispatched_at, progress)
    values ('mail', $1::jsonb, $2, 1, 5, case when $2 <> 'pending' then 7 end,
            case when $2 = 'failed' then now() + interval '1 day' end,
            case when $2 = 'running' then now() + interval '1 hour' end, 'Error: no', null,
            case when $2 = 'running' then now() end, case when $2 = 'running' then now() end,
            case when $2 = 'running' then jsonb '{"fraction": 0.5, "text": null, "at": "2026-03-01T10:00:00.000Z"}' end)
    returning id`;

async function insert(status: 'pending' | 'failed' | 'running' | 'dead_letter'): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(INSERT, [PAYLOAD, status]);
  const id = rows[0]!.id;
  if (status === 'dead_letter') {
    await pool.query(
      `insert into millrace.dead_letters (job_id, claim_no, job_type, routing_key, last_error, fingerprint)
         values ($1, 7, 'mail', '', 'Error: no', md5('no'))`,
      [id],
    );
  }
  await pool.query(
    `insert into millrace.job_attempts (job_id, claim_no, attempt, outcome, error_name, error_message, started_at)
       values ($1, 7, 1, 'failed', 'Error', 'no', now())`,
    [id],
  );
  return id;
}

const pending = await insert('pending');
const failed = await insert('failed');
const running = await insert('running');
const dead = await insert('dead_letter');

const thisMinute = Math.floor(Date.now() / 60_000);
const minuteAgo = (minutes: number) => new Date((thisMinute - minutes) * 60_000).toISOString();
const [since, until] = [minuteAgo(90), minuteAgo(60)];
await pool.query(
  `insert into millrace.job_numbers (step, at, job_type, enqueued, succeeded, failed, dead_lettered, wait_counts,
      run_counts)
    select 'minute', $1::timestamptz + make_interval(mins => n), t, 4, n, 1, 1, '{0,0,4}', '{0,0,0,0,0,0,4}'
      from generate_series(3, 8) n, unnest(array['_all', 'mail']) t`,
  [since],
);

it.each([
  [['jobs', 'list']],
  [['jobs', 'list', '--json']],
  [['jobs', 'list', '--jsonl']],
  [['jobs', 'list', '--status', 'failed,dead_letter', '--job-type', 'mail,any', '--json']],
  [['jobs', 'list', '--since', '1h', '--limit', '2', '--json']],
  [['jobs', 'list', '--since', '2100-01-01', '--json']],
  [['jobs', 'list', '--created-to', '0s', '--json']],
  [['jobs', 'list', '--created-to', '1h']],
  [['jobs', 'list', '--since', '1h', '--error', 'ERROR: N', '--json']],
  [['jobs', 'list', '--error', 'other']],
  [['jobs', 'list', '--error', ' ']],
  [['jobs', 'list', '--unique-key', 'none']],
  [['jobs', 'list', '--routing-key', '', '--status', 'failed', '--json']],
  [['jobs', 'list', '--routing-key', 'fast']],
  [['jobs', 'list', '--status', 'succeeded']],
  [['jobs', 'list', '--limit', '0']],
  [['jobs', 'show', pending]],
  [['jobs', 'show', pending, '--json']],
  [['jobs', 'show', failed, '--json']],
  [['jobs', 'show', running]],
  [['jobs', 'show', running, '--json']],
  [['jobs', 'show', dead]],
  [['jobs', 'show', dead, '--json']],
  [['jobs', 'show', '999999999']],
  [['jobs', 'show', 'x']],
  [['jobs', 'wait', dead, '--json']],
  [['jobs', 'wait', pending, '--timeout', '0s']],
  [['jobs', 'wait', '999999999']],
  [['jobs', 'cancel', '999999999', '--json']],
  [['jobs', 'cancel', pending, failed]],
  [['jobs', 'retry', running, '--json']],
  [['jobs', 'delete', running, '--yes', '--json']],
  [['jobs', 'delete', pending]],
  [['enqueue', 'mail', '{"to":']],
  [['enqueue', 'A']],
  [['stats', '--since', since, '--until', until]],
  [['stats', '--since', since, '--until', until, '--job-type', 'mail,any']],
  [['stats', '--job-type', 'mial']],
  [['stats', '--since', '2100-01-01']],
  [['stats', '--since', '2026-01-02', '--until', '2026-01-01']],
  [['stats', '--since', '2026-01-02', '--step', 'minute']],
])('prints the same bytes for %j through the database and through the API', async (args) => {
  const [one, other] = await Promise.all([byDatabase(args), byApi(args)]);

  expect({ code: other.code, stdout: other.stdout }).toEqual({ code: one.code, stdout: one.stdout });
  expect(other.stderr).toBe(one.stderr);
});

/** Each way gets its own job; only ids and times may differ. */
it.each([
  ['pending', (id: string) => ['jobs', 'cancel', id]],
  ['running', (id: string) => ['jobs', 'cancel', id, '--json']],
  ['dead_letter', (id: string) => ['jobs', 'cancel', id, '--json']],
  ['failed', (id: string) => ['jobs', 'retry', id]],
  ['dead_letter', (id: string) => ['jobs', 'retry', id, '--json']],
  ['pending', (id: string) => ['jobs', 'delete', id, '--yes', '--json']],
  ['dead_letter', (id: string) => ['jobs', 'delete', id, '999999999', '--yes', '--json']],
  ['failed', (id: string) => ['enqueue', 'mail', PAYLOAD.replace('"n"', `"to": "${id}", "m"`)]],
  ['failed', (id: string) => ['enqueue', 'mail', `{"to": "${id}"}`, '--in', '5m', '--priority', '1', '--json']],
] as const)('changes a %s job the same way through the database and through the API', async (status, command) => {
  const ids = [await insert(status), await insert(status)] as const;

  const one = await byDatabase(command(ids[0]));
  const other = await byApi(command(ids[1]));

  const plain = (text: string) => text.replaceAll(/\b\d+\b/g, 'N');
  expect({ code: other.code, stdout: plain(other.stdout) }).toEqual({ code: one.code, stdout: plain(one.stdout) });
  expect(plain(other.stderr)).toBe(plain(one.stderr));
});

it('enqueue passes every option and every digit to the API', async () => {
  const flags = [
    '--at',
    '2100-01-01T00:00:00+02:00',
    '--max-attempts',
    '2',
    '--group-key',
    'g',
    '--routing-key',
    'fast',
  ];

  const payload = PAYLOAD.replace('12345678901234567890.10', '0.10');
  const first = await byApi(['enqueue', 'any', payload, ...flags, '--unique-key', 'u', '--json']);
  const second = await byApi(['enqueue', 'any', '--routing-key', 'fast', '--unique-key', 'u']);

  const { id, deduplicated } = JSON.parse(first.stdout);
  const { rows } = await pool.query('select *, payload::text as payload from millrace.jobs where id = $1', [id]);
  expect(deduplicated).toBe(false);
  expect(rows[0]).toMatchObject({
    ...{ payload, max_attempts: 2, group_key: 'g', routing_key: 'fast' },
    ...{ run_at: new Date('2099-12-31T22:00:00Z'), unique_key: 'u' },
  });
  expect(second).toEqual({
    ...{ code: 0, stdout: `${id}\n` },
    stderr: `job ${id} holds this unique key: nothing was inserted\n`,
  });
});

it('stats prints the same counts through the database and through the API', async () => {
  const [one, other] = [await byDatabase(['stats', '--json']), await byApi(['stats', '--json'])];

  const still = ({ stdout }: { stdout: string }) => {
    const { as_of: _now, counted_at: _then, oldest_due: late, ...rest } = JSON.parse(stdout);
    return { ...rest, late: late.map(({ job_type: jobType }: { job_type: string }) => jobType) };
  };
  expect(still(other)).toEqual(still(one));
  expect(other.code).toBe(0);
});

it('stats prints the numbers of an interval, with a graph', async () => {
  const interval = ['stats', '--since', since, '--until', until];
  const table = await byDatabase(interval);
  const documents = await Promise.all([byDatabase([...interval, '--json']), byApi([...interval, '--json'])]);

  const numbers = ['24', '33', '6', '6', '75ms', '98ms', '1.75s', '2.42s', '·▃▆█▅··········'].join('\t');
  expect(table.stdout).toBe(`_all\t${numbers}\nmail\t${numbers}\n`);
  expect(table.stderr).toBe(`from ${since}, by minute: 30 points, the last one begins at ${minuteAgo(61)}\n`);
  const [one, other] = documents.map(({ stdout }) => ({ ...JSON.parse(stdout), as_of: undefined }));
  expect(one).toEqual(other);
  expect(one.series[0]).toMatchObject({ job_type: '_all', totals: { succeeded: 33, run_p50: 1.75 } });
  expect([one.times.length, one.series[0].points.succeeded.slice(2, 5)]).toEqual([30, [0, 3, 4]]);
});
