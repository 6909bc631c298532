import { SettingError } from '../errors.ts';
import type { ChildrenOptions, EnqueueItem, EnqueueOptions, HandlerDefinition } from '../handler/definition.ts';
import { checkKeys } from '../handler/policy-fields.ts';
import type { EnqueuedWithSuccess } from '../outcome.ts';
import { traceCreate } from '../tracing.ts';
import { newJob, newJobs, withTrace } from './check-job.ts';
import { checkItems, type NewJob, recordText } from './enqueue-options.ts';

/** Jobs that one attempt may enqueue beside those that wait for children, which may be as many. */
const MOST_JOBS = 10_000;
/** Characters of the JSON text of all. */
const MOST_TEXT = 8 * 1024 * 1024;

/** Collects what one attempt enqueues, until it has ended. */
export class FollowUps {
  private readonly groups: string[] = [];
  private jobs = 0;
  /** Jobs that wait for children. */
  private waiting = 0;
  private text = 0;
  /** Calls that check a job at the moment. */
  private checking = 0;
  private readonly idle: (() => void)[] = [];
  private isClosed = false;

  async enqueue(handler: HandlerDefinition, payload: unknown, options: EnqueueOptions = {}): Promise<void> {
    return this.check(async () => {
      const [job = ''] = await recordsOf([await newJob({ ...options, handler, payload }, '')]);
      this.add(`"jobs":[${job}]`, { jobs: 1, waiting: 0 });
    });
  }

  async enqueueChildren(children: readonly EnqueueItem[], options: ChildrenOptions): Promise<void> {
    return this.check(async () => {
      checkItems(children, 'children');
      checkKeys('enqueueChildren(options)', options, ['onAllFinished', 'onDeadChild']);
      const { onAllFinished: next, onDeadChild = 'wait' } = options;
      if (onDeadChild !== 'wait' && onDeadChild !== 'continue') {
        throw new SettingError('onDeadChild', "'wait' or 'continue'", onDeadChild);
      }
      checkWaiting(next);
      for (const name of ['uniqueKey', 'uniqueBy'] as const) {
        if (next?.[name] === undefined) continue;
        throw new SettingError(`onAllFinished.${name}`, 'no key: a job with the key may run already', next[name]);
      }
      const [waiting] = await recordsOf([await newJob(next ?? {}, 'onAllFinished.')]);
      const jobs = await recordsOf(await newJobs(children, 'children'));
      const pastDead = onDeadChild === 'continue';
      const group = `"jobs":[${jobs.join()}],"then":${waiting},"past_dead":${pastDead}`;
      this.add(group, { jobs: jobs.length, waiting: 1 });
    });
  }

  /** Ends the collection: a later call is an error, because nothing would insert its job. */
  end(): void {
    this.isClosed = true;
  }

  /** Waits for calls that were not awaited, and returns the jobs; undefined without any. */
  async close(): Promise<Omit<EnqueuedWithSuccess, 'delaySeconds'> | undefined> {
    while (this.checking > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
    this.end();
    const jobs = this.jobs + this.waiting;
    return jobs === 0 ? undefined : { groups: this.groups, jobs };
  }

  /** Returns the promise of the call itself: an error that no code awaits is then reported like any other. */
  private async check(work: () => Promise<void>): Promise<void> {
    if (this.isClosed) throw new Error('the attempt has ended: await enqueue before run returns');
    this.checking++;
    try {
      await work();
    } finally {
      this.checking--;
      if (this.checking === 0) for (const resolve of this.idle.splice(0)) resolve();
    }
  }

  private add(group: string, { jobs, waiting }: { readonly jobs: number; readonly waiting: number }): void {
    const most = Math.max(this.jobs + jobs, this.waiting + waiting);
    if (most > MOST_JOBS) {
      throw new SettingError('enqueue', `at most ${MOST_JOBS} jobs in one attempt (children can enqueue others)`, most);
    }
    if (this.text + group.length > MOST_TEXT) {
      throw new SettingError('enqueue', `payloads of at most 8 MB together in one attempt`, this.text + group.length);
    }
    this.groups.push(group);
    this.jobs += jobs;
    this.waiting += waiting;
    this.text += group.length;
  }
}

/** Rejects a definition in place of a job, and an option that belongs beside the job. */
function checkWaiting(next: unknown): void {
  const { jobType, onDeadChild } = (next ?? {}) as Record<string, unknown>;
  if (jobType !== undefined) throw new SettingError('onAllFinished', 'a job, { handler, payload }', next);
  if (onDeadChild === undefined) return;
  const message = 'onAllFinished.onDeadChild: onDeadChild is an option beside onAllFinished, not in it';
  throw new SettingError('onAllFinished.onDeadChild', '', onDeadChild, message);
}

async function recordsOf(jobs: readonly NewJob[]): Promise<string[]> {
  const types = jobs.map(({ jobType }) => jobType);
  return traceCreate(types, async (traceparent) => jobs.map((job) => recordText(withTrace(job, traceparent))));
}
