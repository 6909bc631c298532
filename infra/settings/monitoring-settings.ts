import { SettingError } from '../../core/errors.ts';
import { type Context, isOn, optional, present } from './context.ts';
import { FORMS, formed } from './setting-values.ts';

/** What alarms notify: an existing topic, or a new one with an email address, and a URL. Without any: nothing. */
export interface AlarmTarget {
  readonly topicArn?: string;
  readonly email?: string;
  /** https, such as that of a chat channel. It is readable in the template. */
  readonly webhook?: string;
}

/** What a stage shows of itself in CloudWatch. All of it costs money. */
export interface MonitoringSettings {
  /** What alarms notify; `false` for no alarms. */
  readonly alarms: AlarmTarget | false;
  readonly dashboard: boolean;
  /** Whether functions publish metrics in CloudWatch. */
  readonly metrics: boolean;
  /** Whether these metrics, each of which costs money, have the dimension `job_type`. */
  readonly metricsByJobType: boolean;
}

export function readMonitoring(context: Context, protect: boolean): MonitoringSettings {
  const alarms = readAlarms(context, protect);
  const dashboard = isOn(context, 'dashboard', protect);
  const metrics = optional(context, 'metrics') === undefined ? undefined : isOn(context, 'metrics', true);
  return {
    alarms,
    dashboard,
    metrics: publishesMetrics(metrics, { alarms, dashboard }),
    metricsByJobType: isOn(context, 'metricsByJobType', protect),
  };
}

function readAlarms(context: Context, protect: boolean): AlarmTarget | false {
  const target = present({
    topicArn: formed(context, 'alarmTopicArn', FORMS.topic),
    email: formed(context, 'alarmEmail', FORMS.email),
    webhook: formed(context, 'alarmWebhook', FORMS.webhook),
  });
  const isTarget = Object.keys(target).length > 0;
  if (isOn(context, 'alarms', protect || isTarget)) return target;
  if (!isTarget) return false;
  throw new SettingError('alarms', 'on, since alarmTopicArn, alarmEmail or alarmWebhook is set', 'off');
}

/**
 * Returns whether functions publish metrics: by default if an alarm or a dashboard reads them.
 * @throws SettingError when alarms would see no metrics
 */
export function publishesMetrics(
  given: boolean | undefined,
  { alarms, dashboard }: Pick<MonitoringSettings, 'alarms' | 'dashboard'>,
): boolean {
  if (given === false && alarms !== false) throw new SettingError('metrics', 'on, since alarms is on', 'off');
  return given ?? (alarms !== false || dashboard);
}
