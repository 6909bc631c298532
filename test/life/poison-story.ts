import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { RunningStack } from '../support/project.ts';
import { handlerSource } from './sources.ts';

/** A poison job ends its process after the other jobs of its batch have started and before any has ended. */
const BODY = `
    await wait(payload.ending === 'none' ? 150 : 60, undefined, { signal });
    switch (payload.ending) {
      case 'kill':
        return process.kill(process.pid, 'SIGKILL');
      case 'exit':
        return process.exit(0);
      case 'spin':
        for (;;) undefined;
    }
    return jobId;`;

/** A handler file that runs ten jobs in one process at a time; after a crash their leases last up to 16 s. */
export const FRAGILE = handlerSource('fragile', BODY, `timeout: '1s', concurrency: 2, batch: { size: 10 },`);

export type Ending = 'kill' | 'exit' | 'spin';

export interface Load {
  readonly jobs: number;
  /** The poison jobs, by their position in the order. */
  readonly poison: Readonly<Record<number, Ending>>;
  /** The `max_attempts` of poison jobs; the other jobs have five. */
  readonly attempts: number;
}

/**
 * Enqueues half of the jobs due at once, and the others due one by one during the recovery from the first crash, so
 * that suspects meet new jobs. Returns the ids of the poison jobs.
 */
export async function enqueueLoad(stack: RunningStack, { jobs, poison, attempts }: Load): Promise<string[]> {
  const rows = await stack.query<{ id: string; ending: string }>(
    `insert into millrace.jobs (job_type, payload, run_at, max_attempts)
       select 'fragile', jsonb_build_object('ending', coalesce($2::jsonb ->> n::text, 'none')),
              millrace.clock() + greatest(0, n - $1::integer / 2) * interval '300 milliseconds',
              case when $2::jsonb ? n::text then $3::integer else 5 end
         from generate_series(1, $1::integer) n
       returning id::text, payload ->> 'ending' as ending`,
    [jobs, JSON.stringify(poison), attempts],
  );
  return rows.filter(({ ending }) => ending !== 'none').map(({ id }) => id);
}

export interface Other {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
}

/** Waits until only dead jobs are unfinished, and returns the jobs that are not poison. */
export async function untilOthersAreDone(stack: RunningStack, poison: readonly string[]): Promise<Other[]> {
  await eventually(
    async () => {
      const open = await stack.query(`select from millrace.jobs_live where status <> 'dead_letter'`);
      expect(open, stack.output()).toHaveLength(0);
    },
    { interval: 200 },
  );
  return stack.query<Other>(
    'select id::text, status, attempts from millrace.jobs where id <> all($1::bigint[]) order by id',
    [poison],
  );
}
