import { CLOUDWATCH_NAMESPACE, type CloudWatchName, serviceOf } from '../../core/numbers/metric-table.ts';

/** One metric over a period, from our table or from AWS's own. */
export interface MetricSpec {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  /** `Sum`, `Maximum` or `p99`. */
  readonly statistic: string;
  readonly periodSeconds: number;
}

/** An alarm as plain data. */
export interface AlarmSpec {
  readonly name: string;
  /** `page` wakes somebody; `ticket` can wait until the morning. */
  readonly severity: 'page' | 'ticket';
  /** By the names that `expression` has for them; without one there is a single metric. */
  readonly metrics: Readonly<Record<string, MetricSpec>>;
  readonly expression?: string;
  readonly comparison: '>' | '>=' | '<';
  readonly threshold: number;
  /** So many of the last `periods` datapoints. */
  readonly datapoints: number;
  readonly periods: number;
  readonly missing: 'breaching' | 'notBreaching';
  /** What it means, and the command to type. */
  readonly meaning: string;
  readonly command: string;
  /** Of the section of `docs/operations.md`. */
  readonly anchor: string;
}

/** What a person reads on the alarm. */
export function alarmText({ meaning, command, anchor }: AlarmSpec): string {
  return `${meaning} Type: ${command} - and see docs/operations.md#${anchor}`;
}

/** A metric of our table, of one stage, or of one job type in it. */
export function ownMetric(
  { stage, jobType }: { readonly stage: string; readonly jobType?: string },
  name: CloudWatchName,
  statistic: string,
  periodSeconds: number,
): MetricSpec {
  const dimensions = { service: serviceOf(stage), ...(jobType !== undefined && { job_type: jobType }) };
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

export function queueMetric(QueueName: string, name: string): MetricSpec {
  return { namespace: 'AWS/SQS', name, dimensions: { QueueName }, statistic: 'Maximum', periodSeconds: 60 };
}
