import { z } from 'zod';
import { type ChildrenOptions, defineHandler } from '../../../core/handler/handler.ts';
import { advanceJoins } from '../../../core/jobs/advance-joins.ts';
import { openLog } from '../../../core/log.ts';
import type { Engine, RunOptions } from '../../support/database-engine.ts';
import { stillTime } from '../../support/still-time.ts';

export const merge = defineHandler({ jobType: 'merge', payload: z.unknown(), run: async () => undefined });

/** The jobs of one fan-out: the parent, its children, and the job that waits for them. */
export interface Family {
  readonly parent: string;
  readonly children: string[];
  readonly waiting: string;
}

/** Runs a job that enqueues children, which are not started. */
export async function fanOut(
  engine: Engine,
  count: number,
  { onDeadChild = 'wait', ...options }: Pick<ChildrenOptions, 'onDeadChild'> & RunOptions = {},
): Promise<Family> {
  const { ids, records } = await engine.deliver(1);
  engine.work = ({ enqueueChildren }) =>
    enqueueChildren(
      Array.from({ length: count }, (_, n) => ({ handler: engine.definition, payload: { n } })),
      { onAllFinished: { handler: merge, payload: { of: count } }, onDeadChild },
    );
  await engine.run(records, options);
  engine.work = () => undefined;
  const [join] = await engine.sql<Family>(
    'select job_id::text as waiting, children::text[] from millrace.job_joins where parent_id = $1',
    [ids[0]],
  );
  return { parent: ids[0]!, children: join!.children, waiting: join!.waiting };
}

/** Looks at the joins as a round of a dispatcher does; returns how many jobs became due. */
export function look({ db }: Engine, lines: string[] = []): Promise<number> {
  return advanceJoins({ db, log: openLog((line) => lines.push(line)), time: stillTime() }, { position: '0' });
}
