import type { Log } from '../log.ts';
import { CLOUDWATCH_METRICS, CLOUDWATCH_NAMESPACE, type CloudWatchName, serviceOf } from './metric-table.ts';

/** A value, or several observations of one metric. */
export type MetricValues = Partial<Record<CloudWatchName, number | readonly number[]>>;

/** Publishes numbers to CloudWatch as lines of the log, in its embedded metric format. */
export interface Metrics {
  /** `jobType` undefined: of the whole service. */
  put(values: MetricValues, jobType?: string): void;
}

/** CloudWatch takes 100 values a metric in one line. */
const MOST_VALUES = 100;
/** Each value of a dimension is a metric that is paid for; what comes after these is called `other`. */
const MOST_JOB_TYPES = 50;

/** `byJobType` false leaves that dimension out; `stage` is part of the other one, when there is a stage. */
export function openMetrics(
  log: Log,
  { byJobType, stage }: { byJobType: boolean; stage?: string | undefined },
): Metrics {
  const service = serviceOf(stage);
  const known = new Set<string>();
  const nameOf = (jobType: string): string => {
    if (known.has(jobType) || known.size < MOST_JOB_TYPES) known.add(jobType);
    return known.has(jobType) ? jobType : 'other';
  };
  return {
    put: (values, jobType) => {
      const name = byJobType && jobType !== undefined ? nameOf(jobType) : undefined;
      for (const part of split(values)) log.info('metrics', line(part, service, name));
    },
  };
}

function line(values: MetricValues, service: string, jobType: string | undefined) {
  const names = Object.keys(values) as CloudWatchName[];
  return {
    _aws: {
      // CloudWatch wants the time of its own clock, and no row will ever hold this one.
      Timestamp: Date.now(),
      CloudWatchMetrics: [
        {
          Namespace: CLOUDWATCH_NAMESPACE,
          Dimensions: [['service'], ...(jobType === undefined ? [] : [['service', 'job_type']])],
          Metrics: names.map((Name) => ({ Name, Unit: CLOUDWATCH_METRICS[Name].unit })),
        },
      ],
    },
    service,
    ...(jobType !== undefined && { job_type: jobType }),
    ...values,
  };
}

/** Parts of which none has too many values. */
function split(values: MetricValues): MetricValues[] {
  const entries = Object.entries(values).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  if (entries.length === 0) return [];
  const longest = Math.max(...entries.map(([, value]) => (Array.isArray(value) ? value.length : 1)));
  return Array.from({ length: Math.ceil(longest / MOST_VALUES) }, (_, part) =>
    Object.fromEntries(
      entries.map(([name, value]) => [name, partOf(value, part)] as const).filter(([, value]) => value !== undefined),
    ),
  );
}

function partOf(value: number | readonly number[], part: number): number | readonly number[] | undefined {
  if (typeof value === 'number') return part === 0 ? value : undefined;
  const some = value.slice(part * MOST_VALUES, (part + 1) * MOST_VALUES);
  return some.length > 0 ? some : undefined;
}
