import { inParallel } from '../../core/aws/batches.ts';
import { type Deployed, openDeployed } from '../../core/aws/deployed.ts';
import type { HandlerDefinition } from '../../core/handler/handler.ts';
import { deadLetterQueueName, functionName, queueName, scheduleGroupName } from '../../core/handler/naming.ts';
import {
  deadLetterQueueDifferences,
  functionDifferences,
  mappingDifferences,
  ownFunctionDifferences,
  queueDifferences,
  scheduleDifferences,
} from '../../core/registry/differences.ts';
import { lambdaFailure, sqsFailure } from '../target/aws-failure.ts';
import { brokenFiles, type ExpectedStage } from './expected-stage.ts';
import { FINE, type Finding, listed } from './findings.ts';

/** Calls under way at once: AWS answers few of these a second. */
const WIDTH = 5;
const WOKEN = ['dispatcher', 'dlq-mirror'] as const;
/** On one machine the stack itself is the gateway, and what a deployment does to the database. */
const ALL_OWN = [...WOKEN, 'api', 'migrate', 'registry'] as const;

/** Everything that is deployed, against the code. */
export async function checkDeployment(expected: ExpectedStage): Promise<Finding[]> {
  const { stage, address, catalog, deploy } = expected;
  const deployed = openDeployed(address);
  const definitions = catalog.handlers.map(({ definition }) => definition);
  const each = async (check: string, look: (definition: HandlerDefinition) => Promise<string[]>) =>
    listed(check, (await inParallel(definitions, WIDTH, look)).flat(), deploy, FINE);
  try {
    return [
      listed('code', brokenFiles(catalog), 'mend the file', `${definitions.length} handlers`),
      await each('queues', async (definition) => {
        return queueDifferences(stage, definition, await queue(deployed, queueName(stage, definition)));
      }),
      await each('dead-letter queues', async (definition) => {
        const found = await queue(deployed, deadLetterQueueName(stage, definition));
        return deadLetterQueueDifferences(stage, definition, found);
      }),
      await each('functions', async (definition) => {
        return functionDifferences(stage, definition, await lambda(deployed, queueName(stage, definition)));
      }),
      await each('mappings', (definition) => mappings(deployed, stage, definition)),
      listed('other functions', await ownFunctions(deployed, expected), deploy, FINE),
      // On one machine the stack itself is the clock.
      ...(address === undefined ? [listed('schedules', await schedules(deployed, stage), deploy, FINE)] : []),
    ];
  } finally {
    deployed.close();
  }
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

async function mappings(deployed: Deployed, stage: string, definition: HandlerDefinition): Promise<string[]> {
  const name = queueName(stage, definition);
  const found = await deployed.mappings(name).catch((error: unknown) => {
    throw lambdaFailure(error, name);
  });
  return mappingDifferences(stage, definition, found);
}

async function ownFunctions(deployed: Deployed, { stage, address }: ExpectedStage): Promise<string[]> {
  const parts = address === undefined ? ALL_OWN : WOKEN;
  const found = await inParallel(parts, WIDTH, async (part) => {
    return ownFunctionDifferences(stage, part, await lambda(deployed, functionName(stage, part)));
  });
  return found.flat();
}

async function schedules(deployed: Deployed, stage: string): Promise<string[]> {
  const names = WOKEN.map((part) => functionName(stage, part));
  const found = await inParallel(names, WIDTH, async (name) => {
    const schedule = await deployed.schedule(scheduleGroupName(stage), name).catch((error: unknown) => {
      throw lambdaFailure(error, `the schedule ${name}`);
    });
    return scheduleDifferences(name, schedule);
  });
  return found.flat();
}
