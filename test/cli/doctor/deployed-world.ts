import { join } from 'node:path';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { loadCatalog } from '../../../core/catalog/catalog.ts';
import { openProbe } from '../../../core/catalog/probe.ts';
import { queueName } from '../../../core/handler/naming.ts';
import { timingOf } from '../../../core/handler/timing.ts';
import { openLog } from '../../../core/log.ts';
import { type Database, openDatabase } from '../../../core/postgres/database.ts';
import { registerHandlers } from '../../../core/registry/register-handlers.ts';
import { ensureQueues, openSqsClient } from '../../../local/functions/handler-queues.ts';
import { endEmulators, startEmulator } from '../../local/sqs/emulator-process.ts';
import { createDatabase, type TestDatabase } from '../../support/database.ts';
import { type FakeAws, openFakeAws } from '../redrive/fake-aws.ts';

export const ROOT = join(import.meta.dirname, '../../..');
export const catalog = await loadCatalog(join(ROOT, 'functions/handlers'), openProbe());
const definitions = catalog.handlers.map(({ definition }) => definition);

export interface DeployedStage {
  readonly stage: string;
  /** The queue of `send_reminder`. */
  readonly name: string;
  readonly url: string;
  readonly deadLetterUrl: string;
  readonly mapping: Record<string, unknown>;
}

/** An AWS account with the SQS emulator and a real database. */
export interface DeployedWorld {
  readonly aws: FakeAws;
  readonly sqs: SQSClient;
  readonly database: TestDatabase;
  readonly db: Database;
  /** The environment by which the SDK finds the account. */
  readonly env: Readonly<Record<string, string>>;
  /** Deploys a new stage that matches the code. */
  deploy(): Promise<DeployedStage>;
  close(): Promise<void>;
}

export async function openDeployedWorld(): Promise<DeployedWorld> {
  const aws = await openFakeAws();
  const endpoint = (await startEmulator()).world.endpoint as string;
  const sqs = openSqsClient(endpoint, 'us-east-1');
  const database = await createDatabase();
  const db = openDatabase({ connectionString: database.url, max: 1, name: 'test', log: openLog(() => undefined) });
  const env = {
    ...{ AWS_ENDPOINT_URL_SQS: endpoint, AWS_ENDPOINT_URL_LAMBDA: aws.endpoint },
    ...{ AWS_ENDPOINT_URL_SCHEDULER: aws.endpoint, AWS_REGION: 'us-east-1' },
    ...{ AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
  };
  const parts = { aws, sqs, database, db, env };
  let stages = 0;
  return {
    ...parts,
    deploy: () => deployStage(parts, `s${++stages}`),
    close: async () => {
      aws.close();
      sqs.destroy();
      endEmulators();
      await db.close();
      await database.drop();
    },
  };
}

/** Other functions, with their timeouts. */
const OTHER_FUNCTIONS = { dispatcher: 150, 'dlq-mirror': 60, api: 29, migrate: 840, registry: 840 };

async function deployStage(
  { aws, sqs, db }: Omit<DeployedWorld, 'deploy' | 'close'>,
  stage: string,
): Promise<DeployedStage> {
  const handlers = await Promise.all(
    definitions.map(async (definition) => {
      const queues = await ensureQueues(sqs, stage, definition);
      const functionName = queueName(stage, definition);
      aws.functions.set(functionName, {
        Timeout: timingOf(definition).functionTimeout,
        MemorySize: definition.memoryMb,
      });
      const mapping = {
        EventSourceArn: queues.queueArn,
        State: 'Enabled',
        BatchSize: definition.batch.size,
        ScalingConfig: { MaximumConcurrency: definition.concurrency },
        FunctionResponseTypes: ['ReportBatchItemFailures'],
      };
      aws.mappings.set(functionName, [mapping]);
      return { definition, functionName, mapping, ...queues };
    }),
  );
  for (const [part, Timeout] of Object.entries(OTHER_FUNCTIONS)) {
    aws.functions.set(`millrace-${stage}-${part}`, { Timeout, MemorySize: 256 });
  }
  for (const part of ['dispatcher', 'dlq-mirror']) {
    const name = `millrace-${stage}-${part}`;
    const Target = { Arn: `arn:aws:lambda:us-east-1:000000000000:function:${name}` };
    aws.schedules.set(name, { ScheduleExpression: 'rate(1 minute)', State: 'ENABLED', Target });
  }
  // Another stage on the same database: the earlier one is no longer needed.
  await db.query('update millrace.installation set stage = null, account = null, region = null');
  await registerHandlers({ db, stage }, handlers);
  const reminder = handlers.find(({ definition }) => definition.jobType === 'send_reminder')!;
  const { functionName: name, queueUrl: url, deadLetterQueueUrl: deadLetterUrl, mapping } = reminder;
  return { stage, name, url, deadLetterUrl, mapping };
}
