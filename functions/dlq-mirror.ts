import { openDeadLetterQueues } from '../core/aws/dead-letter-queues.ts';
import { openQueues } from '../core/aws/queues.ts';
import { metricSettings, serviceAddress } from '../core/config.ts';
import { mirror } from '../core/dead-letters/mirror.ts';
import { type LambdaContext, nameInvocation, processLog } from '../core/log.ts';
import { openMetrics } from '../core/numbers/emf.ts';
import { openConfiguredDatabase } from '../core/postgres/configured.ts';
import { systemTime } from '../core/time.ts';

const deps = {
  db: openConfiguredDatabase({ max: 1, name: 'millrace-dlq-mirror', log: processLog }),
  deadLetterQueues: openDeadLetterQueues(serviceAddress('SQS')),
  queues: openQueues(serviceAddress('SQS')),
  log: processLog,
  time: systemTime,
  metrics: openMetrics(processLog, metricSettings()),
};

/** The Lambda that mirrors the dead-letter queues every minute. */
export const handler = (_event: unknown, context: LambdaContext): Promise<void> => {
  nameInvocation(context);
  return mirror(deps);
};
