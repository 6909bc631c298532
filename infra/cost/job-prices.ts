import { OWN_FUNCTIONS } from '../../core/handler/naming.ts';
import { LAMBDA, lambdaPrice, type PriceLine, sqsPrice } from '../plan/prices.ts';
import { HOURS, UNIT_PRICES } from '../plan/unit-prices.ts';
import { jobRequests, LOG_BYTES, type Load } from './job-requests.ts';

/** Jobs, and where they run. */
export interface Work extends Load {
  readonly durationSeconds: number;
  /** Time of each invocation that is not that of a job: the statements before and after. */
  readonly overheadSeconds: number;
  /** Whether the jobs of a batch overlap, because they wait for others, or share one processor. */
  readonly kind: 'waits' | 'computes';
  readonly memoryMb: number;
  readonly mode: 'auto' | 'loop' | 'tick';
  /** Hours of a day in which there are jobs. */
  readonly activeHours: number;
  readonly door: 'sql' | 'api';
  /** Jobs in one request to the API. */
  readonly perRequest: number;
}

/** A nudge is a round, a second of waiting, and a round. */
const NUDGE_SECONDS = 1.1;
/** A line of the gateway's access log. */
const ACCESS_BYTES = 330;
const GB = 1e9;

/** Returns what the jobs of a month cost, beyond what the stage costs at rest. */
export function jobPrices(work: Work): PriceLine[] {
  const counts = jobRequests(work);
  const { sends, receives, deletes, visibilities, invocations, refusals, logBytes } = counts;
  const { durationSeconds, overheadSeconds, memoryMb } = work;
  const perBatch = durationSeconds * (work.kind === 'computes' ? work.batch : 1);
  const refusing = lambdaPrice(refusals, overheadSeconds, memoryMb);
  const running = lambdaPrice(invocations - refusals, overheadSeconds + perBatch, memoryMb);
  const lines: PriceLine[] = [
    { service: 'SQS', what: 'send, receive, delete', ...sqsPrice(sends + receives + deletes + visibilities) },
    { service: 'Lambda', what: 'handlers', ...add(running, refusing) },
    ...(work.mode === 'auto' ? [activeDispatcher(work)] : []),
    ...(work.door === 'api' ? apiPrices(work) : []),
    { service: 'CloudWatch', what: 'logs', dollars: logPrice(logBytes) },
  ];
  return lines.filter(({ dollars }) => dollars > 0);
}

/** Returns what the dispatcher costs while there are jobs, beyond its ticks. */
function activeDispatcher({ activeHours }: Work): PriceLine {
  const share = activeHours / 24;
  const gbSeconds = share * (LAMBDA.loop.gbSeconds - LAMBDA.tick.gbSeconds);
  const dollars = share * (LAMBDA.loop.dollars - LAMBDA.tick.dollars);
  return { service: 'Lambda', what: 'dispatcher, active', gbSeconds, dollars };
}

function apiPrices(work: Work): PriceLine[] {
  const { api, dispatcher } = OWN_FUNCTIONS;
  const requests = work.jobs / work.perRequest;
  const gateway = requests * UNIT_PRICES.httpRequest.dollars;
  const nudges = lambdaPrice(nudgesOf(work, requests), NUDGE_SECONDS, dispatcher.memoryMb);
  return [
    { service: 'API Gateway', what: 'requests', requests, dollars: gateway },
    { service: 'Lambda', what: 'API', ...lambdaPrice(requests, work.overheadSeconds, api.memoryMb) },
    { service: 'Lambda', what: 'nudges of dispatcher', ...nudges },
    { service: 'CloudWatch', what: 'access log', dollars: logPrice(requests * (ACCESS_BYTES + LOG_BYTES.line)) },
  ];
}

/** Returns the number of nudges: at most one a second, for requests that arrive independently of each other. */
function nudgesOf({ activeHours }: Work, requests: number): number {
  const seconds = (activeHours / 24) * HOURS * 3600;
  return requests / (1 + requests / seconds);
}

function logPrice(bytes: number): number {
  return (bytes / GB) * UNIT_PRICES.logGb.dollars;
}

type Use = Required<Omit<PriceLine, 'service' | 'what'>>;

function add(one: Use, other: Use): Use {
  return {
    requests: one.requests + other.requests,
    gbSeconds: one.gbSeconds + other.gbSeconds,
    dollars: one.dollars + other.dollars,
  };
}
