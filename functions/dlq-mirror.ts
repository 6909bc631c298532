import { metricSettings } from '../core/config.ts';
import { openConfiguredDatabase } from '../core/configured-database.ts';
import { openDeadLetterQueues } from '../core/dead-letter-queues.ts';
import { openMetrics } from '../core/emf.ts';
import { type LambdaContext, nameInvocation, processLog } from '../core/log.ts';
import { mirror } from '../core/mirror.ts';
import { openQueues } from '../core/queues.ts';
import { systemTime } from '../core/time.ts';

const deps = {
  db: openConfiguredDatabase({ max: 1, name: 'millrace-dlq-mirror', log: processLog }),
  deadLetterQueues: openDeadLetterQueues(),
  queues: openQueues(),
  log: processLog,
  time: systemTime,
  metrics: openMetrics(processLog, metricSettings()),
};

/** The Lambda that looks into the dead-letter queues every minute. */
export const handler = (_event: unknown, context: LambdaContext): Promise<void> => {
  nameInvocation(context);
  return mirror(deps);
};
