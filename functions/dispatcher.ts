import type { Dispatched } from '../core/aws/functions.ts';
import { openQueues } from '../core/aws/queues.ts';
import { choiceSetting, durationSetting, metricSettings, serviceAddress } from '../core/config.ts';
import { type DispatcherSettings, runDispatcher, runOnce } from '../core/dispatch/dispatcher.ts';
import { type LambdaContext, nameInvocation, processLog } from '../core/log.ts';
import { openMetrics } from '../core/numbers/emf.ts';
import { openConfiguredDatabase } from '../core/postgres/configured.ts';
import { systemTime } from '../core/time.ts';

const settings: DispatcherSettings = {
  mode: choiceSetting('MILLRACE_DISPATCH_MODE', ['auto', 'loop', 'tick']),
  pollIntervalMs: durationSetting('MILLRACE_POLL_INTERVAL', '1s') * 1000,
  windowMs: durationSetting('MILLRACE_DISPATCH_WINDOW', '125s') * 1000,
};
const deps = {
  db: openConfiguredDatabase({ max: 1, name: 'millrace-dispatcher', log: processLog }),
  queues: openQueues(serviceAddress('SQS')),
  log: processLog,
  time: systemTime,
  random: Math.random,
  metrics: openMetrics(processLog, metricSettings()),
};

interface DispatcherEvent {
  readonly nudge?: boolean;
  readonly again?: boolean;
}

/** The Lambda that the schedule invokes every minute. A nudge runs one or two rounds beside the current run. */
export const handler = (event: DispatcherEvent | null, context: LambdaContext): Promise<Dispatched | undefined> => {
  nameInvocation(context);
  return event?.nudge ? runOnce(deps, event.again) : runDispatcher(deps, settings).then(() => undefined);
};
