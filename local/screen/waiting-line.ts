import { type HandlerAddress, handlerName } from '../../core/handler/naming.ts';

/** A job that a stop waits for. */
export interface AwaitedJob extends HandlerAddress {
  readonly jobId: string;
  /** How far it is, from 0 to 1, if its handler reports that. */
  readonly fraction: number | null;
}

const MOST_NAMED = 3;

/** Returns the line that says what a stop waits for. `jobs` are the first of `count` jobs. */
export function waitingLine(jobs: readonly AwaitedJob[], count: number, mostSeconds: number): string {
  const named = jobs.slice(0, MOST_NAMED).map((job) => `${handlerName(job)} ${job.jobId}${share(job.fraction)}`);
  const others = count - named.length;
  const whom = named.length === 0 ? `${count} running job${count === 1 ? '' : 's'}` : named.join(', ') + more(others);
  return `waiting for ${whom}, at most ${rounded(mostSeconds)}; Ctrl-C again ends ${count === 1 ? 'it' : 'them'} now`;
}

function share(fraction: number | null): string {
  return fraction === null ? '' : ` (${Math.floor(fraction * 100)} %)`;
}

function more(others: number): string {
  return others > 0 ? ` and ${others} more` : '';
}

/** Returns seconds as `4m 20s`. */
function rounded(total: number): string {
  const whole = Math.max(1, Math.ceil(total));
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  return [...(minutes > 0 ? [`${minutes}m`] : []), ...(rest > 0 ? [`${rest}s`] : [])].join(' ');
}
