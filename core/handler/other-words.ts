import { closest } from '../text.ts';

/** Words of other job systems and of home-made tables, without case and separators, by our word. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  jobtype: [
    ...['type', 'name', 'kind', 'class', 'task', 'tasktype', 'taskname', 'jobname', 'queue', 'queuename'],
    ...['identifier', 'taskidentifier'],
  ],
  payload: ['data', 'args', 'arguments', 'input', 'inputdata', 'body', 'params', 'kwargs', 'taskkwargs'],
  runat: [
    ...['scheduledat', 'scheduledfor', 'startat', 'eta', 'availableat', 'visibleat', 'nextrunat', 'scheduleat'],
    ...['performat', 'waituntil'],
  ],
  delay: ['delayseconds', 'delayms', 'countdown', 'startafter', 'wait', 'schedulein', 'performin'],
  startby: ['ttl', 'expires', 'expiresat', 'expirein', 'deadline'],
  maxattempts: ['maxretries', 'retries', 'retrylimit', 'maxretryattempts', 'maxtries', 'tries', 'attempts', 'retry'],
  retry: ['backoff', 'retrybackoff', 'retrydelay', 'retrydelayseconds', 'defaultretrydelay', 'retrypolicy'],
  uniquekey: [
    ...['singletonkey', 'jobkey', 'idempotencykey', 'dedupekey', 'deduplicationid', 'uniqueid', 'jobid'],
    ...['deduplication', 'queueinglock'],
  ],
  groupkey: ['messagegroupid', 'group', 'groupid', 'tenant', 'tenantid', 'partitionkey'],
  routingkey: ['backend', 'variant', 'target'],
  timeout: [
    ...['timeoutms', 'timeoutseconds', 'jobtimeout', 'claimtimeout', 'visibilitytimeout', 'lease', 'leaseseconds'],
    ...['expireinseconds', 'timelimit', 'softtimelimit'],
  ],
  concurrency: ['workers', 'maxworkers', 'maxconcurrency', 'concurrent', 'limit', 'localconcurrency', 'concurrentjobs'],
  batch: ['batchsize'],
  ondeadletter: ['deadletter', 'deadletterqueue', 'linkerror', 'sidekiqretriesexhausted'],
  schedules: ['schedule', 'cron', 'crontab', 'periodic', 'repeat', 'beatschedule'],
  cron: ['pattern'],
  zone: ['tz', 'timezone'],
  run: ['handler', 'handle', 'process', 'processor', 'perform', 'execute', 'work', 'callback'],
};

/** What a reader must know about our word. */
const NOTES: Readonly<Record<string, string>> = {
  maxattempts: ', which counts the first attempt too',
  retry: ", a policy such as retry.fixed('1m')",
  claimtimeout: ', from which the lease of a claim follows',
  visibilitytimeout: ', from which the visibility timeout follows',
};

const POLLS = 'one dispatcher polls for all handlers: set MILLRACE_POLL_INTERVAL, or pollInterval of the stage';
/** Options that no handler has, and where they are. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  pollinterval: POLLS,
  pollingintervalseconds: POLLS,
  claimlimit: 'one dispatcher claims for all handlers: set MILLRACE_CLAIM_LIMIT, or claimLimit of the stage',
};

/** A job has no timeout of its own. */
const TIMES_OUT =
  '; the handler has the timeout, from which the lease of a claim follows: set timeout in defineHandler';

/** Other words for a status, by ours. */
const STATUS_WORDS: Readonly<Record<string, readonly string[]>> = {
  pending: [
    ...['queued', 'waiting', 'scheduled', 'created', 'available', 'new', 'delayed', 'ready'],
    ...['todo', 'wait', 'enqueued', 'prioritized', 'deferred'],
  ],
  dispatched: ['claimed', 'sent', 'reserved', 'locked'],
  running: ['processing', 'active', 'inprogress', 'started', 'working', 'executing', 'doing', 'busy'],
  failed: ['retry', 'retries', 'retrying', 'retryable', 'error', 'errored'],
  dead_letter: ['dead', 'discarded', 'exhausted', 'buried', 'dlq', 'morgue', 'quarantined', 'failure'],
  succeeded: ['success', 'successful', 'completed', 'complete', 'done', 'finished', 'delivered', 'ok', 'processed'],
  skipped: ['ignored', 'skip'],
  cancelled: ['canceled', 'aborted', 'revoked'],
};

const plain = (word: string) => word.toLowerCase().replace(/[_-]/g, '');

/**
 * Returns the end of an error about a name that is not in `known`, if it is another system's word for one of them, for
 * a setting of the stage, or for what the handler has instead of the job; else empty.
 */
export function otherWord(given: string, known: readonly string[]): string {
  const word = plain(given);
  if (Object.hasOwn(ELSEWHERE, word)) return `; ${ELSEWHERE[word]}`;
  const ours = Object.entries(NAMES).find(([, others]) => others.includes(word))?.[0] ?? word;
  const found = known.find((one) => plain(one) === ours);
  if (ours === 'timeout' && found === undefined && known.some((one) => plain(one) === 'uniquekey')) return TIMES_OUT;
  return found === undefined ? '' : `; did you mean ${found}${NOTES[word] ?? NOTES[ours] ?? ''}?`;
}

/** Returns the same as `otherWord`, or else a suggestion of a similar name. */
export function suggestName(given: string, known: readonly string[]): string {
  const similar = closest(plain(given), known.map(plain));
  const found = known.find((one) => plain(one) === similar);
  return otherWord(given, known) || (found === undefined ? '' : `; did you mean ${found}?`);
}

/** Returns the end of an error about a status that does not exist. */
export function suggestStatus(given: unknown): string {
  if (typeof given !== 'string') return '';
  const word = plain(given);
  const ours = Object.entries(STATUS_WORDS).find(([, others]) => others.includes(word))?.[0];
  return ours === undefined ? suggestName(given, Object.keys(STATUS_WORDS)) : `; did you mean ${ours}?`;
}
