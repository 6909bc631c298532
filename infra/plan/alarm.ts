import { CLOUDWATCH_NAMESPACE, type CloudWatchName, serviceOf } from '../../core/numbers/metric-table.ts';

/** One metric over a period, from the metric table or published by AWS. */
export interface MetricSpec {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  /** Such as `Sum`, `Maximum` or `SampleCount`. */
  readonly statistic: string;
  readonly periodSeconds: number;
}

/** An alarm as plain data. */
export interface AlarmSpec {
  readonly name: string;
  /** `page` requires action at once; `ticket` can wait until working hours. */
  readonly severity: 'page' | 'ticket';
  /** The metrics, by their names in `expression`; a single metric if there is no expression. */
  readonly metrics: Readonly<Record<string, MetricSpec>>;
  readonly expression?: string;
  readonly comparison: '>' | '>=' | '<';
  readonly threshold: number;
  /** How many of the last `periods` datapoints must breach the threshold. */
  readonly datapoints: number;
  readonly periods: number;
  readonly missing: 'breaching' | 'notBreaching';
  readonly meaning: string;
  /** The command to run first. */
  readonly command: string;
  /** Anchor of the section in `docs/operations.md`. */
  readonly anchor: string;
}

/** An alarm on the first datapoint above 0, and one on most of five: a run each minute can leave one without data. */
export const ONCE = { datapoints: 1, periods: 1, comparison: '>', threshold: 0, missing: 'notBreaching' } as const;
export const MOSTLY = { ...ONCE, datapoints: 3, periods: 5 } as const;

/** Returns the description of an alarm. */
export function alarmText({ meaning, command, anchor }: AlarmSpec): string {
  return `${meaning} Run: ${command} - see docs/operations.md#${anchor}`;
}

/** Returns a metric of the metric table, for one stage. */
export function ownMetric(stage: string, name: CloudWatchName, statistic: string, periodSeconds: number): MetricSpec {
  const dimensions = { service: serviceOf(stage) };
  return { namespace: CLOUDWATCH_NAMESPACE, name, dimensions, statistic, periodSeconds };
}

export function functionMetric(
  FunctionName: string,
  name: string,
  statistic: string,
  periodSeconds: number,
): MetricSpec {
  return { namespace: 'AWS/Lambda', name, dimensions: { FunctionName }, statistic, periodSeconds };
}
