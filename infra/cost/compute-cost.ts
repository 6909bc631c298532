import { type PriceLine, sumOf } from '../plan/prices.ts';
import { elsewhere } from './elsewhere.ts';
import { jobPrices } from './job-prices.ts';
import { jobRequests } from './job-requests.ts';
import type { CostOptions } from './read-work.ts';
import { STAGES, stagePrice } from './stage-price.ts';

/** What the jobs of a month cost in one stage, in dollars. */
export interface Cost {
  readonly options: CostOptions;
  readonly requests: ReturnType<typeof jobRequests>;
  /** What the jobs add, by service. */
  readonly jobs: readonly PriceLine[];
  /** What the stage costs without jobs, by service. */
  readonly atRest: readonly PriceLine[];
  readonly dollars: {
    readonly jobs: number;
    readonly perMillionJobs: number;
    readonly atRest: number;
    readonly total: number;
    /** Without the database, the secrets of its logins, and logs. */
    readonly comparable: number;
  };
  /** What the same jobs cost in other systems, each without its database and its logs. */
  readonly elsewhere: readonly PriceLine[];
}

const MILLION = 1_000_000;
/** Lines that the prices of other systems do not have, either. */
const APART = ['Database', 'Secrets'];
const LOGS = /\blogs?$/;

export function computeCost(options: CostOptions): Cost {
  const jobs = jobPrices(options);
  const atRest = stagePrice({ ...STAGES[options.stage], dispatch: options.mode }, options.handlers);
  const total = sumOf(jobs) + sumOf(atRest);
  return {
    options,
    requests: jobRequests(options),
    ...{ jobs, atRest },
    dollars: {
      jobs: sumOf(jobs),
      perMillionJobs: (sumOf(jobs) / options.jobs) * MILLION,
      atRest: sumOf(atRest),
      total,
      comparable: sumOf(
        [...jobs, ...atRest].filter(({ service, what }) => !APART.includes(service) && !LOGS.test(what)),
      ),
    },
    elsewhere: elsewhere(options),
  };
}
