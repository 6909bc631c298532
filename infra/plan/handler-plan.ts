import type { HandlerEntry } from '../../core/catalog/import-handler.ts';
import type { DefinitionData } from '../../core/handler/definition.ts';
import { deadLetterQueueName, queueName } from '../../core/handler/naming.ts';
import {
  DEAD_LETTER_RETENTION_SECONDS,
  MAX_RECEIVE_COUNT,
  SOURCE_RETENTION_SECONDS,
  timingOf,
} from '../../core/handler/timing.ts';
import { type Variables, variablesOf, withVariables } from '../../core/handler/variables.ts';
import { givenSettings, lookupIn } from '../../core/settings/named-values.ts';
import { checkEnvironment } from '../settings/setting-values.ts';

/** Every number and name with which one handler is deployed. `proofs.ts` checks it, and the constructs use it as is. */
export interface HandlerPlan {
  /** Such as `send_reminder`, or `index_record.vector` with a routing key. */
  readonly name: string;
  /** Absolute path of the handler file. */
  readonly file: string;
  /** The definition as its file states it: the variables are not applied. */
  readonly definition: DefinitionData;
  /** Name of the source queue and of the function. */
  readonly queueName: string;
  readonly deadLetterQueueName: string;
  /** All times in seconds. */
  readonly timeout: number;
  readonly functionTimeout: number;
  readonly runningLease: number;
  readonly dispatchedLease: number;
  readonly visibilityTimeout: number;
  readonly retention: number;
  readonly deadLetterRetention: number;
  readonly maxReceiveCount: number;
  readonly memoryMb: number;
  readonly concurrency: number;
  readonly batchSize: number;
  readonly batchWindow: number;
  readonly maxInFlight: number;
  /** Packages to install beside the bundle. */
  readonly nativeModules: readonly string[];
  /** The variables that its function and the registry apply to its definition. */
  readonly variables: Readonly<Record<string, string>>;
  /** The values that the deployment has for the settings that its definition names. */
  readonly settings: Readonly<Record<string, string>>;
  /** The variables that its definition states. */
  readonly environment: Readonly<Record<string, string>>;
  /** The names of its secrets. */
  readonly secrets: readonly string[];
}

/**
 * @param sources where the settings that the definition names are looked up, and which of them only look like secrets
 * @throws SettingError that names the variable whose value is invalid, or the setting that looks like a secret
 */
export function planHandler(
  stage: string,
  entry: HandlerEntry,
  variables: Variables = {},
  { settings = {}, notSecret = [] }: { settings?: Variables; notSecret?: readonly string[] } = {},
): HandlerPlan {
  const { file, name } = entry;
  const definition = withVariables(entry.definition, variables);
  return {
    name,
    file,
    definition: entry.definition,
    queueName: queueName(stage, definition),
    deadLetterQueueName: deadLetterQueueName(stage, definition),
    ...timingOf(definition),
    retention: SOURCE_RETENTION_SECONDS,
    deadLetterRetention: DEAD_LETTER_RETENTION_SECONDS,
    maxReceiveCount: MAX_RECEIVE_COUNT,
    memoryMb: definition.memoryMb,
    concurrency: definition.concurrency,
    batchSize: definition.batch.size,
    batchWindow: definition.batch.windowSeconds,
    maxInFlight: definition.maxInFlight,
    nativeModules: definition.nativeModules ?? [],
    variables: variablesOf([definition], variables),
    settings: checkEnvironment('settings', givenSettings(definition, lookupIn(settings)), notSecret),
    environment: checkEnvironment(`${name}: aws.environment`, definition.aws?.environment ?? {}, notSecret),
    secrets: definition.secrets ?? [],
  };
}
