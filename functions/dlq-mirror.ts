import { openConfiguredDatabase } from '../core/aws/configured.ts';
import { openDeadLetterQueues } from '../core/aws/dead-letter-queues.ts';
import { openQueues } from '../core/aws/queues.ts';
import { durationSetting, metricSettings, serviceAddress } from '../core/config.ts';
import { mirror } from '../core/dead-letters/mirror.ts';
import { type LambdaContext, nameInvocation, processLog } from '../core/log.ts';
import { openMetrics } from '../core/numbers/emf.ts';
import { systemTime } from '../core/time.ts';
import { doUpkeep, upkeepSteps } from '../core/upkeep/upkeep.ts';

const deps = {
  db: openConfiguredDatabase({ max: 1, name: 'millrace-dlq-mirror', log: processLog }),
  deadLetterQueues: openDeadLetterQueues(serviceAddress('SQS')),
  queues: openQueues(serviceAddress('SQS')),
  log: processLog,
  time: systemTime,
  metrics: openMetrics(processLog, metricSettings()),
  failed: new Set<string>(),
};

const steps = upkeepSteps(durationSetting('MILLRACE_RETENTION', '7d'));
/** Time from the start of a run after which no part of the upkeep begins; the function ends after 60 s. */
const UPKEEP_UNTIL_MS = 48_000;

/**
 * The Lambda that mirrors the dead-letter queues every minute. It also does the upkeep that reads or deletes many rows,
 * because no job waits for it.
 */
export const handler = async (_event: unknown, context: LambdaContext): Promise<void> => {
  nameInvocation(context);
  const until = deps.time.now() + UPKEEP_UNTIL_MS;
  try {
    await mirror(deps);
  } finally {
    await doUpkeep(deps, steps, until);
  }
};
