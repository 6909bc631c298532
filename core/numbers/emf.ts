import type { Log } from '../log.ts';
import { CLOUDWATCH_METRICS, CLOUDWATCH_NAMESPACE, type CloudWatchName, serviceOf } from './metric-table.ts';

/** One value or several for each metric. */
export type MetricValues = Partial<Record<CloudWatchName, number | readonly number[]>>;

/** Publishes metrics to CloudWatch as log lines, in the embedded metric format. */
export interface Metrics {
  /** Publishes values for one job type, or for the whole service without one. */
  put(values: MetricValues, jobType?: string): void;
}

/** CloudWatch accepts 100 values of a metric in one line. */
const MOST_VALUES = 100;
/** AWS charges for each value of a dimension as a metric; further job types are published as `other`. */
const MOST_JOB_TYPES = 50;

/**
 * Opens the metrics of a process. `byJobType: false` omits that dimension; `stage` becomes part of `service`.
 * `publish: false` prints nothing.
 */
export function openMetrics(
  log: Log,
  { publish = true, byJobType, stage }: { publish?: boolean; byJobType: boolean; stage?: string | undefined },
): Metrics {
  const service = serviceOf(stage);
  const known = new Set<string>();
  const nameOf = (jobType: string): string => {
    if (known.has(jobType) || known.size < MOST_JOB_TYPES) known.add(jobType);
    return known.has(jobType) ? jobType : 'other';
  };
  return {
    put: (values, jobType) => {
      if (!publish) return;
      const name = byJobType && jobType !== undefined ? nameOf(jobType) : undefined;
      for (const part of split(values)) log.info('metrics', line(part, service, name));
    },
  };
}

function line(values: MetricValues, service: string, jobType: string | undefined) {
  const names = Object.keys(values) as CloudWatchName[];
  return {
    _aws: {
      // CloudWatch requires a time by its own clock; no row stores this one.
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

/** Splits values into lines that CloudWatch accepts. */
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
