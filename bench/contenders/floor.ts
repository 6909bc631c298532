import { type Contender, inBatches } from './contender.ts';
import { openPool } from './pool.ts';
import { type BenchPayload, Runs } from './work.ts';

const CREATE = `
  create table jobs (
    id bigint generated always as identity primary key, payload jsonb not null, taken_until timestamptz);
  create table history (id bigint primary key, payload jsonb not null, finished_at timestamptz not null)`;
const ENQUEUE = 'insert into jobs (payload) select value from jsonb_array_elements($1)';
const TAKE = `
  update jobs set taken_until = now() + interval '1 minute'
    where id = any(array(
      select id from jobs where taken_until is null or taken_until < now() order by id limit $1 for update skip locked))
    returning id, payload`;
const FINISH = `
  with ended as (delete from jobs where id = any($1::bigint[]) returning id, payload)
  insert into history select id, payload, now() from ended`;
const COUNT = 'select (select count(*) from history)::integer as done, (select count(*) from jobs)::integer as open';

/** The least SQL that keeps history and survives a crash: no priorities, no retries, no times. */
export function floor(batch: number, lanes: number): Contender {
  return {
    ...{ system: 'floor', batch, lanes },
    async open(connectionString) {
      const pool = openPool(connectionString, lanes);
      await pool.query(CREATE);
      const ran = new Runs();
      const drainOne = async () => {
        for (;;) {
          const { rows } = await pool.query<{ id: string; payload: BenchPayload }>(TAKE, [batch]);
          if (rows.length === 0) return;
          for (const { payload } of rows) ran.fails(payload);
          await pool.query(FINISH, [rows.map(({ id }) => id)]);
        }
      };
      return {
        enqueue: (jobs) => inBatches(jobs, (payloads) => pool.query(ENQUEUE, [JSON.stringify(payloads)])),
        drain: async () => {
          await Promise.all(Array.from({ length: lanes }, drainOne));
        },
        async check(jobs) {
          const { rows } = await pool.query<{ done: number; open: number }>(COUNT);
          if (!ran.areComplete(jobs) || rows[0]?.done !== jobs || rows[0].open !== 0) {
            throw new Error('floor: not every job ran once');
          }
        },
        close: () => pool.end(),
      };
    },
  };
}
