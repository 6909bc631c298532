import { createHash, timingSafeEqual } from 'node:crypto';
import * as z from 'zod';
import { ServiceError } from './invocation-result.ts';
import type { Mapping, MappingChange } from './mapping.ts';
import { parseJson } from './parse-json.ts';
import type { MappingSpec } from './specs.ts';

const CHANGE = z.object({
  Enabled: z.boolean().nullish(),
  BatchSize: z.int().min(1).max(10_000).nullish(),
  MaximumBatchingWindowInSeconds: z.int().min(0).max(300).nullish(),
  ScalingConfig: z.object({ MaximumConcurrency: z.int().min(2).max(1_000).nullish() }).nullish(),
});

const CONCURRENCY = z.object({ ReservedConcurrentExecutions: z.int().min(0) });

/**
 * Checks the access key of a request. Every account on the machine can reach the loopback address, but only the account
 * that started the stack can read the key: functions have secrets in their environment, and invoking the API's function
 * grants every scope.
 * @throws ServiceError
 */
export function assertAccessKey(authorization: string | undefined, expected: string): void {
  const key = /^AWS4-HMAC-SHA256 Credential=([^/,\s]+)\//.exec(authorization ?? '')?.[1];
  if (key !== undefined && timingSafeEqual(digest(key), digest(expected))) return;
  const advice = 'use lambdaAccessKeyId from .millrace/dev.json as AWS_ACCESS_KEY_ID';
  throw key === undefined
    ? new ServiceError(403, 'MissingAuthenticationTokenException', `Missing Authentication Token: ${advice}`)
    : new ServiceError(403, 'UnrecognizedClientException', `The access key is not that of this stack: ${advice}`);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Parses the body of PutFunctionConcurrency. Throws `InvalidParameterValueException` with the expected value. */
export function readConcurrency(body: string): number {
  const parsed = CONCURRENCY.safeParse(parseJson(body));
  if (!parsed.success) throw invalid('ReservedConcurrentExecutions: expected a whole number, 0 or more');
  return parsed.data.ReservedConcurrentExecutions;
}

/** Parses the body of UpdateEventSourceMapping. Throws `InvalidParameterValueException` with the expected value. */
export function readChange(body: string, current: MappingSpec): MappingChange {
  const parsed = CHANGE.safeParse(parseJson(body === '' ? '{}' : body));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(`${issue?.path.join('.') || 'the request'}: ${issue?.message}`);
  }
  const { Enabled, BatchSize, MaximumBatchingWindowInSeconds, ScalingConfig } = parsed.data;
  const batchSize = BatchSize ?? current.batchSize;
  const windowSeconds = MaximumBatchingWindowInSeconds ?? current.windowSeconds;
  if (batchSize > 10 && windowSeconds === 0) {
    throw invalid('Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than 10');
  }
  return {
    ...(Enabled != null && { enabled: Enabled }),
    batchSize,
    windowSeconds,
    maximumConcurrency: ScalingConfig?.MaximumConcurrency ?? current.maximumConcurrency,
  };
}

/** Returns an EventSourceMappingConfiguration of the Lambda API. */
export function toConfiguration(mapping: Mapping, functionArn: string): Record<string, unknown> {
  const { uuid, spec, state, lastModified } = mapping;
  return {
    UUID: uuid,
    FunctionArn: functionArn,
    EventSourceArn: spec.queueArn,
    EventSourceMappingArn: functionArn.replace(/:function:.*$/, `:event-source-mapping:${uuid}`),
    BatchSize: spec.batchSize,
    MaximumBatchingWindowInSeconds: spec.windowSeconds,
    ScalingConfig: { MaximumConcurrency: spec.maximumConcurrency },
    FunctionResponseTypes: ['ReportBatchItemFailures'],
    State: state,
    StateTransitionReason: 'USER_INITIATED',
    LastModified: lastModified.getTime() / 1000,
  };
}

function invalid(message: string): ServiceError {
  return new ServiceError(400, 'InvalidParameterValueException', message);
}
