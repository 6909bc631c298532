import { writeSync } from 'node:fs';
import stated from '#handler';
import { openConfiguredDatabase } from '../core/aws/configured.ts';
import { openQueues } from '../core/aws/queues.ts';
import { allSettings, logsJobStarts, metricSettings, serviceAddress, setting } from '../core/config.ts';
import { HANDLER_WAIT_MS, OVERRUN_SECONDS } from '../core/handler/timing.ts';
import { withVariables } from '../core/handler/variables.ts';
import { type LambdaContext, nameInvocation, openLog, openProcessLog } from '../core/log.ts';
import { openMetrics } from '../core/numbers/emf.ts';
import type { Invocation } from '../core/run/batch.ts';
import { runBatch } from '../core/run/run-batch.ts';
import type { BatchResponse, SqsEvent } from '../core/run/sqs-event.ts';
import { type TakeOverReport, takeOver as takeOverBatch } from '../core/run/take-over.ts';
import { openUncaughtErrors } from '../core/run/uncaught-errors.ts';
import { openWatchdog } from '../core/run/watchdog.ts';
import { openValues } from '../core/settings/open-values.ts';
import { openRedactor } from '../core/settings/redactor.ts';
import { systemTime } from '../core/time.ts';

const definition = withVariables(stated, allSettings());
const redactor = openRedactor();
const log = openProcessLog(redactor.redact);
const deps = {
  definition,
  queueUrl: setting('MILLRACE_QUEUE_URL', "the URL of this handler's queue"),
  db: openConfiguredDatabase({
    ...{ max: 1, name: 'millrace-handler', log },
    ...{ connectTimeoutMs: HANDLER_WAIT_MS, statementTimeoutMs: HANDLER_WAIT_MS },
  }),
  queues: openQueues(serviceAddress('SQS')),
  time: systemTime,
  log,
  random: Math.random,
  metrics: openMetrics(log, metricSettings()),
  logJobStarts: logsJobStarts(),
  readValues: openValues(definition, { redactor, log }),
  uncaught: openUncaughtErrors(process),
  watchdog: openWatchdog({
    file: import.meta.url,
    limitMs: (definition.timeoutSeconds + OVERRUN_SECONDS) * 1000,
    log,
  }),
  exit: () => process.exit(),
};

/** The Lambda of every handler. Bundling sets `#handler` to the handler file. */
export const handler = (event: SqsEvent, context: Invocation & LambdaContext): Promise<BatchResponse> => {
  nameInvocation(context);
  return runBatch(deps, event, context);
};

/**
 * Stores the outcomes of a blocked batch; runs in the thread of the watchdog. `console` in this thread writes through
 * the main thread, which is blocked, so the log writes to the file descriptor.
 */
export const takeOver = (report: TakeOverReport | undefined): Promise<void> => {
  const ownLog = openLog((line) => void writeSync(1, `${line}\n`));
  return takeOverBatch({ ...deps, log: ownLog, exit: () => void process.kill(process.pid, 'SIGKILL') }, report);
};
