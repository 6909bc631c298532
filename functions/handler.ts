import definition from '#handler';
import type { Invocation } from '../core/batch.ts';
import { metricSettings, setting } from '../core/config.ts';
import { openConfiguredDatabase } from '../core/configured-database.ts';
import { openMetrics } from '../core/emf.ts';
import { type LambdaContext, nameInvocation, processLog } from '../core/log.ts';
import { openQueues } from '../core/queues.ts';
import { runBatch } from '../core/run-batch.ts';
import type { BatchResponse, SqsEvent } from '../core/sqs-event.ts';
import { systemTime } from '../core/time.ts';

const deps = {
  definition,
  queueUrl: setting('MILLRACE_QUEUE_URL', "the URL of this handler's queue"),
  db: openConfiguredDatabase({ max: 1, name: 'millrace-handler', log: processLog }),
  queues: openQueues(),
  time: systemTime,
  log: processLog,
  random: Math.random,
  metrics: openMetrics(processLog, metricSettings()),
  exit: () => process.exit(),
};

/** The Lambda of every handler: `#handler` stands for its file and is set when it is bundled. */
export const handler = (event: SqsEvent, context: Invocation & LambdaContext): Promise<BatchResponse> => {
  nameInvocation(context);
  return runBatch(deps, event, context);
};
