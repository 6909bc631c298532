import { afterAll, expect, it } from 'vitest';
import type { JobFilter } from '../../../core/look/job-filter.ts';
import { listJobs } from '../../../core/look/page-jobs.ts';
import { openEngine } from '../../support/runtime-engine.ts';

const { db, pool, close } = await openEngine();
afterAll(close);

const INSERT = `
  insert into millrace.jobs_live (job_type, routing_key, unique_key, created_at, last_error)
    values ('a', $1, $2, millrace.clock() - $3::interval, $4) returning id`;

async function insert(routingKey: string, uniqueKey: string | null, age: string, error: string | null) {
  const { rows } = await pool.query<{ id: string }>(INSERT, [routingKey, uniqueKey, age, error]);
  return rows[0]!.id;
}

const old = await insert('', 'u', '2 hours', null);
const fresh = await insert('fast', null, '0', 'HTTP 503: 100% down');
const HOUR_AGO = new Date(Date.now() - 3_600_000);

it.each<[Partial<JobFilter>, string[]]>([
  [{ createdTo: '1h' }, [old]],
  [{ createdTo: HOUR_AGO, createdFrom: '3h' }, [old]],
  [{ createdTo: '3h' }, []],
  [{ createdTo: '0s', createdFrom: HOUR_AGO }, [fresh]],
  [{ error: 'http 503: 100%' }, [fresh]],
  [{ error: '503_' }, []],
  [{ uniqueKey: 'u' }, [old]],
  [{ routingKey: 'fast' }, [fresh]],
  [{ routingKey: '' }, [old]],
  [{ routingKey: '', error: '503' }, []],
])('a list contains only the jobs that match all parts: %j', async (filter, expected) => {
  const jobs = await listJobs(db, { statuses: [], jobTypes: [], ...filter }, 100);

  expect(jobs.map(({ id }) => id)).toEqual(expected);
});
