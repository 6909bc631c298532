import { expect, it } from 'vitest';
import * as z from 'zod';
import type { AwsOptions } from '../../../../core/handler/aws/aws-options.ts';
import { defineHandler } from '../../../../core/handler/handler.ts';

const define = (aws: unknown) =>
  defineHandler({
    jobType: 'send_invoice',
    payload: z.object({}),
    aws: aws as AwsOptions,
    run: async () => undefined,
  });
const allowing = (actions: unknown, resources: unknown) => ({ policy: [{ actions, resources }] });
const LAYER = 'arn:aws:lambda:{region}:123456789012:layer:fonts:3';
const TABLE = 'arn:aws:dynamodb:{region}:{account}:table/{stage}-invoices';

it.each<[string, AwsOptions]>([
  ['permissions', { policy: [{ actions: ['s3:Get*', 'dynamodb:PutItem'], resources: ['*', TABLE] }] }],
  ['variables', { environment: { INVOICE_FORMAT: 'pdf', EMPTY: '' } }],
  ['processes', { provisionedConcurrency: 10 }],
  ['the function', { ephemeralStorage: 10_240, tracing: true, layers: [LAYER] }],
  ['nothing', {}],
])('keeps %s as plain data', (_what, aws) => {
  expect(JSON.parse(JSON.stringify(define(aws).aws))).toEqual(aws);
});

it.each<[string, unknown, string]>([
  ['an unknown option', { polices: [] }, 'aws: unknown option polices; the options are policy, '],
  ['a statement in place of a list', { policy: {} }, 'aws.policy: expected a list of at most 20 statements, got {}'],
  ['an effect', { policy: [{ effect: 'Deny' }] }, 'aws.policy[0]: unknown option effect; the options are actions, res'],
  ['no action', allowing([], ['*']), "aws.policy[0].actions: expected actions such as ['s3:PutObject'], got []"],
  ['all actions', allowing(['*'], ['*']), 'aws.policy[0].actions: expected actions such as'],
  ['a name of a bucket', allowing(['s3:GetObject'], ['shop']), 'aws.policy[0].resources: expected ARNs such as'],
  [
    'an unknown placeholder',
    allowing(['s3:GetObject'], ['arn:aws:s3:::{bucket}']),
    'aws.policy[0].resources: expected only the placeholders {stage}, {region}, {account}, got "{bucket}"',
  ],
  ['a reserved variable', { environment: { AWS_REGION: 'x' } }, 'aws.environment: expected a name that neither Lambda'],
  [
    'little storage',
    { ephemeralStorage: 511 },
    'aws.ephemeralStorage: expected a whole number from 512 to 10240, got 511',
  ],
  ['much storage', { ephemeralStorage: 10_241 }, 'aws.ephemeralStorage: expected a whole number'],
  ['a mode', { tracing: 'Active' }, 'aws.tracing: expected true or false, got "Active"'],
  ['a layer without a version', { layers: [LAYER.slice(0, -2)] }, 'aws.layers: expected ARNs of layer versions'],
  ['six layers', { layers: new Array(6).fill(LAYER) }, 'aws.layers: expected at most 5, got 6'],
  [
    'more processes than run',
    { provisionedConcurrency: 11 },
    'aws.provisionedConcurrency: expected at most the concurrency of 10, got 11',
  ],
  ['no process', { provisionedConcurrency: 0 }, 'aws.provisionedConcurrency: expected a whole number from 1'],
  ['a number', { environment: { LIMIT: 5 } }, 'aws.environment.LIMIT: expected a string, got 5'],
])('refuses %s', (_what, aws, sentence) => {
  expect(() => define(aws)).toThrow(`send_invoice: ${sentence}`);
});
