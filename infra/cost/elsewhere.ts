import { lambdaPrice, type PriceLine } from '../plan/prices.ts';
import { HOURS, UNIT_PRICES } from '../plan/unit-prices.ts';
import type { Work } from './job-prices.ts';
import { jobRequests } from './job-requests.ts';

/** A standard workflow for a job: a wait until its time, and a task. */
const WAITS = 1;
/** An express workflow is billed in steps of this duration and memory. */
const EXPRESS = { seconds: 0.1, gb: 64 / 1024, longestSeconds: 300 };
/** A worker of pg-boss: a task of Fargate, and how many waiting jobs it runs at once. */
const WORKER = { vcpu: 0.25, gb: 0.5, atOnce: 10 };
/** Memory at which Lambda gives a function one vCPU. */
const MB_OF_VCPU = 1769;

/** Returns what the same attempts cost in other systems, each without its database and its logs. */
export function elsewhere(work: Work): PriceLine[] {
  const { attempts } = jobRequests(work);
  // One invocation for each attempt, without the statements of Millrace.
  const lambda = lambdaPrice(attempts, work.durationSeconds, work.memoryMb).dollars;
  const { schedulerInvocation, transition } = UNIT_PRICES;
  const transitions = work.jobs * WAITS + attempts;
  const lines: PriceLine[] = [
    {
      ...{ service: 'EventBridge Scheduler', what: 'one schedule a job, Lambda' },
      dollars: work.jobs * schedulerInvocation.dollars + lambda,
    },
    {
      ...{ service: 'Step Functions, standard', what: 'a wait and a task a job, Lambda' },
      dollars: transitions * transition.dollars + lambda,
    },
  ];
  if (work.durationSeconds <= EXPRESS.longestSeconds) lines.push(expressLine(work, attempts, lambda));
  return [...lines, workerLine(work, attempts)];
}

function expressLine({ jobs, durationSeconds }: Work, attempts: number, lambda: number): PriceLine {
  const { expressRequest, expressGbSecond } = UNIT_PRICES;
  const seconds = (attempts / jobs) * durationSeconds;
  const billed = Math.max(1, Math.ceil(Number((seconds / EXPRESS.seconds).toFixed(6)))) * EXPRESS.seconds;
  const dollars = jobs * (expressRequest.dollars + billed * EXPRESS.gb * expressGbSecond.dollars) + lambda;
  return { service: 'Step Functions, express', what: 'a task a job at once, Lambda', dollars };
}

/** Returns the price of the workers that the jobs keep busy, at least one, which run the whole month. */
function workerLine(work: Work, attempts: number): PriceLine {
  const { fargateVcpuHour, fargateGbHour, addressHour } = UNIT_PRICES;
  const activeSeconds = (work.activeHours / 24) * HOURS * 3600;
  const running = (attempts * work.durationSeconds) / activeSeconds;
  const share = work.kind === 'waits' ? 1 / WORKER.atOnce : work.memoryMb / MB_OF_VCPU / WORKER.vcpu;
  const workers = Math.max(1, Math.ceil(running * share));
  const hour = WORKER.vcpu * fargateVcpuHour.dollars + WORKER.gb * fargateGbHour.dollars + addressHour.dollars;
  const what = `${workers} ${workers === 1 ? 'task' : 'tasks'} of ${WORKER.vcpu} vCPU`;
  return { service: 'pg-boss on Fargate', what, dollars: workers * hour * HOURS };
}
