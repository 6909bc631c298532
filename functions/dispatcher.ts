import { openConfiguredDatabase } from '../core/aws/configured.ts';
import type { Dispatched } from '../core/aws/functions.ts';
import { openQueues } from '../core/aws/queues.ts';
import { choiceSetting, durationSetting, metricSettings, serviceAddress } from '../core/config.ts';
import { CLAIM_LIMITS, claimSettings } from '../core/dispatch/claim-settings.ts';
import { type DispatcherSettings, type Nudge, runDispatcher, runOnce } from '../core/dispatch/dispatcher.ts';
import { openLongestWaits } from '../core/dispatch/longest-waits.ts';
import { whole } from '../core/handler/whole.ts';
import { type LambdaContext, nameInvocation, processLog } from '../core/log.ts';
import { openMetrics } from '../core/numbers/emf.ts';
import { type LogsEvent, processEnds } from '../core/run/process-end.ts';
import { rescueEnded } from '../core/run/rescue-lost.ts';
import { systemTime } from '../core/time.ts';

const { claimLimit, pollIntervalMs } = claimSettings();
const settings: DispatcherSettings = {
  mode: choiceSetting('MILLRACE_DISPATCH_MODE', ['auto', 'loop', 'tick']),
  pollIntervalMs,
  windowMs: durationSetting('MILLRACE_DISPATCH_WINDOW', '125s') * 1000,
};
const connection = { max: 1, name: 'millrace-dispatcher', log: processLog };
const deps = {
  db: openConfiguredDatabase(connection),
  queues: openQueues(serviceAddress('SQS')),
  log: processLog,
  time: systemTime,
  random: Math.random,
  metrics: openMetrics(processLog, metricSettings()),
  claimLimit,
  waits: openLongestWaits(systemTime),
};

interface DispatcherEvent extends Nudge {
  readonly nudge?: boolean;
}

/**
 * The Lambda that the schedule invokes every minute. A nudge runs one or two rounds beside the current run. The log
 * groups of the handlers invoke it when a process has ended without an outcome.
 */
export const handler = (
  event: DispatcherEvent | LogsEvent | null,
  context: LambdaContext,
): Promise<Dispatched | undefined> => {
  nameInvocation(context);
  if (event && 'awslogs' in event) return rescueLogged(event);
  if (!event?.nudge) return runDispatcher(deps, settings).then(() => undefined);
  const { again, limit } = event;
  return runOnce(deps, { again, limit: limit === undefined ? undefined : whole('limit', limit, ...CLAIM_LIMITS) });
};

/** Closes its connection: one is open for each process that has just lost its own, and none afterwards. */
async function rescueLogged(event: LogsEvent): Promise<undefined> {
  const db = openConfiguredDatabase(connection);
  await rescueEnded({ ...deps, db }, processEnds(event)).finally(() => db.close());
}
