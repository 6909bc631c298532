import type { AlarmSpec, MetricSpec } from '../../infra/plan/alarm.ts';

/** The samples of a metric by minute. */
export type Series = ReadonlyMap<string, ReadonlyMap<number, readonly number[]>>;

/** Names a metric: by its dimension for those of AWS, which several functions publish. */
function keyOf({ namespace, name, dimensions }: MetricSpec): string {
  return namespace === 'Millrace' ? name : `${name} ${Object.values(dimensions).join()}`;
}

/** Returns in which minutes an alarm is in the state ALARM, as CloudWatch evaluates it once a minute. */
export function minutesInAlarm(spec: AlarmSpec, series: Series, minutes: number): number[] {
  return Array.from({ length: minutes }, (_, minute) => minute).filter((minute) => {
    const width = (Object.values(spec.metrics)[0]?.periodSeconds ?? 60) / 60;
    const points = Array.from({ length: spec.periods }, (_, n) => valueAt(spec, series, minute - n * width));
    const breaching = points.filter((point) =>
      point === undefined ? spec.missing === 'breaching' : breaches(spec, point),
    );
    return breaching.length >= spec.datapoints;
  });
}

function breaches({ comparison, threshold }: AlarmSpec, value: number): boolean {
  if (comparison === '<') return value < threshold;
  return comparison === '>' ? value > threshold : value >= threshold;
}

/** Returns the value of the period that ends with a minute. The only expressions add metrics and fill them with 0. */
function valueAt({ metrics, expression }: AlarmSpec, series: Series, minute: number): number | undefined {
  const values = Object.values(metrics).map((metric) => statisticOf(metric, series, minute));
  if (expression === undefined) return values[0];
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

function statisticOf(metric: MetricSpec, series: Series, minute: number): number | undefined {
  const byMinute = series.get(keyOf(metric));
  const samples = Array.from({ length: metric.periodSeconds / 60 }, (_, n) => byMinute?.get(minute - n) ?? []).flat();
  if (samples.length === 0) return undefined;
  if (metric.statistic === 'SampleCount') return samples.length;
  if (metric.statistic === 'Sum') return samples.reduce((sum, value) => sum + value, 0);
  if (metric.statistic === 'Average') return samples.reduce((sum, value) => sum + value, 0) / samples.length;
  if (metric.statistic === 'Maximum') return Math.max(...samples);
  if (metric.statistic === 'Minimum') return Math.min(...samples);
  throw new Error(`no statistic ${metric.statistic}`);
}
