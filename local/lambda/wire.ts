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

/** Reads the body of PutFunctionConcurrency. Throws `InvalidParameterValueException` with what was expected. */
export function readConcurrency(body: string): number {
  const parsed = CONCURRENCY.safeParse(parseJson(body));
  if (!parsed.success) throw invalid('ReservedConcurrentExecutions: expected a whole number, 0 or more');
  return parsed.data.ReservedConcurrentExecutions;
}

/** Reads the body of UpdateEventSourceMapping. Throws `InvalidParameterValueException` with what was expected. */
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

/** An EventSourceMappingConfiguration. */
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
