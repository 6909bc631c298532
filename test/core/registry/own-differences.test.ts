import { expect, it } from 'vitest';
import * as z from 'zod';
import type { FoundOwn } from '../../../core/aws/deployed.ts';
import { defineHandler } from '../../../core/handler/handler.ts';
import { timingOf } from '../../../core/handler/timing.ts';
import { functionDifferences, mappingDifferences } from '../../../core/registry/differences.ts';

const layer = (region: string) => `arn:aws:lambda:${region}:123456789012:layer:fonts:3`;
const definition = defineHandler({
  jobType: 'send_invoice',
  payload: z.object({}),
  aws: { ephemeralStorage: 1024, tracing: true, layers: [layer('{region}')] },
  run: async () => undefined,
});

function compare(own: FoundOwn | undefined): string[] {
  const timeout = timingOf(definition).functionTimeout;
  return functionDifferences('prod', definition, { timeout, memoryMb: definition.memoryMb, own });
}

it('finds no difference to a function with what the definition states, in any region', () => {
  expect(compare({ ephemeralStorage: 1024, tracing: true, layers: [layer('eu-west-1')] })).toEqual([]);
});

it('names the temporary storage, the tracing and the layers that differ', () => {
  expect(compare({ ephemeralStorage: 512, tracing: false, layers: [] })).toEqual([
    'millrace-prod-send_invoice: the temporary storage is 512, but 1024 in the code',
    'millrace-prod-send_invoice: tracing is false, but true in the code',
    'millrace-prod-send_invoice: the list of layers is empty, but arn:aws:lambda:123456789012:layer:fonts:3 in the code',
  ]);
});

it('does not compare the tracing that the definition leaves to its stage', () => {
  const own = { ephemeralStorage: 512, tracing: true, layers: [] };
  const found = { timeout: timingOf(definition).functionTimeout, memoryMb: definition.memoryMb, own };

  expect(functionDifferences('prod', { ...definition, aws: {} }, found)).toEqual([]);
  expect(functionDifferences('prod', { ...definition, aws: { tracing: false } }, found)).toEqual([
    'millrace-prod-send_invoice: tracing is true, but false in the code',
  ]);
});

it('compares nothing of this on one machine, where no function has it', () => {
  expect(compare(undefined)).toEqual([]);
});

it.each([
  [2, 'live', []],
  [2, undefined, ['millrace-prod-send_invoice: the alias is not set, but live in the code']],
  [undefined, 'live', ['millrace-prod-send_invoice: the alias is live, but not set in the code']],
])('compares the alias of a mapping with %s started processes and the alias %s', (provisioned, alias, expected) => {
  const { batch, concurrency } = definition;
  const mapping = {
    ...{ queueArn: 'arn:aws:sqs:eu-west-1:123456789012:millrace-prod-send_invoice', alias, state: 'Enabled' },
    ...{ batchSize: batch.size, batchWindow: batch.windowSeconds, concurrency, partialResponses: true },
  };
  const aws = provisioned === undefined ? {} : { provisionedConcurrency: provisioned };

  expect(mappingDifferences('prod', { ...definition, aws }, [mapping])).toEqual(expected);
});
