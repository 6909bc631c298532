import { inParallel } from '../../core/aws/batches.ts';
import { type Deployed, openDeployed } from '../../core/aws/deployed.ts';
import type { DefinitionData } from '../../core/handler/definition.ts';
import {
  deadLetterQueueName,
  functionName,
  LIVE_ALIAS,
  queueName,
  scheduleGroupName,
} from '../../core/handler/naming.ts';
import {
  deadLetterQueueDifferences,
  functionDifferences,
  mappingDifferences,
  ownFunctionDifferences,
  queueDifferences,
  scheduleDifferences,
} from '../../core/registry/differences.ts';
import { type CommandFailure, EXIT } from '../command-failure.ts';
import { EXPIRED, lambdaFailure, settingsFailure, sqsFailure } from '../target/aws-failure.ts';
import { failedCheck } from './attempt-check.ts';
import { brokenFiles, type ExpectedStage } from './expected-stage.ts';
import { FINE, type Finding, listed } from './findings.ts';

/** Concurrent calls: AWS allows few of these per second. */
const WIDTH = 5;
const WOKEN = ['dispatcher', 'dlq-mirror'] as const;
/** In a local stack, the stack itself serves the API and runs the migrations. */
const ALL_OWN = [...WOKEN, 'api', 'migrate', 'registry'] as const;

/**
 * Compares everything that is deployed with the code.
 * @throws CommandFailure when no check can reach AWS, since all would report the same.
 */
export async function checkDeployment(expected: ExpectedStage): Promise<Finding[]> {
  const { stage, address, catalog, deploy } = expected;
  const deployed = openDeployed(address);
  // One machine ignores the options of functions on AWS.
  const definitions = catalog.handlers.map(({ definition }) => (address ? { ...definition, aws: {} } : definition));
  const each = <T>(check: string, of: readonly T[], look: (one: T) => Promise<string[]>) =>
    compare(check, of, { look, deploy });
  try {
    if (address === undefined) await reachAws(deployed, expected);
    return [
      listed('code', brokenFiles(catalog), 'fix the file', `${definitions.length} handlers`),
      await each('queues', definitions, async (definition) => {
        return queueDifferences(stage, definition, await queue(deployed, queueName(stage, definition)));
      }),
      await each('dead-letter queues', definitions, async (definition) => {
        const found = await queue(deployed, deadLetterQueueName(stage, definition));
        return deadLetterQueueDifferences(stage, definition, found);
      }),
      await each('functions', definitions, async (definition) => {
        return functionDifferences(stage, definition, await lambda(deployed, queueName(stage, definition)));
      }),
      await each('mappings', definitions, (definition) => mappings(deployed, stage, definition)),
      await each('other functions', address === undefined ? ALL_OWN : WOKEN, async (part) => {
        return ownFunctionDifferences(stage, part, await lambda(deployed, functionName(stage, part)));
      }),
      // In a local stack, the stack itself triggers these functions.
      ...(address === undefined ? [await each('schedules', WOKEN, (part) => schedule(deployed, stage, part))] : []),
    ];
  } finally {
    deployed.close();
  }
}

/** @throws CommandFailure without settings, and when neither SQS nor Lambda can be reached. */
async function reachAws(deployed: Deployed, { stage }: ExpectedStage): Promise<void> {
  const failure = settingsFailure(await deployed.missingSettings());
  if (failure !== undefined) throw failure;
  const name = functionName(stage, 'dispatcher');
  const calls = await Promise.all([failureOf(queue(deployed, name)), failureOf(lambda(deployed, name))]);
  const [first] = calls;
  if (calls.every((failed) => failed?.exitCode === EXIT.unreachable || isExpired(failed))) throw first;
}

async function failureOf(call: Promise<unknown>): Promise<CommandFailure | undefined> {
  return call.then(
    () => undefined,
    (error: CommandFailure) => error,
  );
}

function isExpired(failed: CommandFailure | undefined): boolean {
  return failed?.exitCode === EXIT.refused && failed.message.endsWith(EXPIRED);
}

interface Comparison<T> {
  readonly look: (one: T) => Promise<string[]>;
  /** What a person does to remove a difference. */
  readonly deploy: string;
}

/** Compares all resources of one kind. The finding also names a resource that cannot be read. */
async function compare<T>(check: string, of: readonly T[], { look, deploy }: Comparison<T>): Promise<Finding> {
  const failures: unknown[] = [];
  const found = await inParallel(of, WIDTH, async (one) => {
    // Each call waits for seconds when nothing answers.
    if (failures.length >= WIDTH) {
      failures.push(failures[0]);
      return [];
    }
    try {
      return await look(one);
    } catch (error) {
      failures.push(error);
      return [];
    }
  });
  const differences = found.flat();
  const [first, ...others] = failures;
  if (first === undefined) return listed(check, differences, deploy, FINE);
  const failed = failedCheck(check, first);
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  const next = differences.length === 0 ? failed.next : `${failed.next}; ${deploy}`;
  return { ...failed, detail: [...differences, failed.detail + more].join(', '), ...(next !== undefined && { next }) };
}

async function queue(deployed: Deployed, name: string) {
  return deployed.queue(name).catch((error: unknown) => {
    throw sqsFailure(error, name);
  });
}

async function lambda(deployed: Deployed, name: string) {
  return deployed.function(name).catch((error: unknown) => {
    throw lambdaFailure(error, name);
  });
}

async function mappings(deployed: Deployed, stage: string, definition: DefinitionData): Promise<string[]> {
  const name = queueName(stage, definition);
  // Lambda lists the mappings of an alias by its name only.
  const names = definition.aws?.provisionedConcurrency === undefined ? [name] : [`${name}:${LIVE_ALIAS}`, name];
  const found = await Promise.all(names.map((one) => deployed.mappings(one))).catch((error: unknown) => {
    throw lambdaFailure(error, name);
  });
  const unique = new Map(found.flat().map((mapping) => [`${mapping.queueArn} ${mapping.alias}`, mapping]));
  return mappingDifferences(stage, definition, [...unique.values()]);
}

async function schedule(deployed: Deployed, stage: string, part: (typeof WOKEN)[number]): Promise<string[]> {
  const name = functionName(stage, part);
  const found = await deployed.schedule(scheduleGroupName(stage), name).catch((error: unknown) => {
    throw lambdaFailure(error, `the schedule ${name}`);
  });
  return scheduleDifferences(name, found);
}
