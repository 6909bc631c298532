import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler, type HandlerOptions } from '../../../core/handler/handler.ts';
import { DEFAULT_RETRY_POLICY, retry } from '../../../core/handler/retry-policy.ts';
import { isVariable, type Variables, variablesOf, withVariables } from '../../../core/handler/variables.ts';

const payload = z.object({});
const run = async () => undefined;

function resolve(variables: Variables, options: Partial<HandlerOptions<typeof payload>> = {}) {
  return withVariables(defineHandler({ jobType: 'work', payload, run, ...options }), variables);
}

describe('precedence', () => {
  const general = { MILLRACE_MAX_ATTEMPTS: '7', MILLRACE_RETRY_DELAY: '5', MILLRACE_JOB_TIMEOUT: '60' };
  const own = { MILLRACE_MAX_ATTEMPTS_work: '2', MILLRACE_RETRY_DELAY_work: '9', MILLRACE_JOB_TIMEOUT_work: '10' };
  const stated = { maxAttempts: 3, retry: retry.fixed('1m'), timeout: 20 } as const;

  it.each([
    ['nothing', {}, {}, { maxAttempts: 5, timeoutSeconds: 30, retry: DEFAULT_RETRY_POLICY }],
    ['a general variable', general, {}, { maxAttempts: 7, timeoutSeconds: 60, retry: retry.fixed(5) }],
    ['the definition', general, stated, { maxAttempts: 3, timeoutSeconds: 20, retry: retry.fixed(60) }],
    ['the variable of the handler', { ...general, ...own }, stated, { maxAttempts: 2, timeoutSeconds: 10 }],
    ['the variable of the handler alone', own, stated, { retry: retry.fixed(9) }],
    ['no empty variable', { MILLRACE_MAX_ATTEMPTS: ' ', MILLRACE_RETRY_DELAY_work: '' }, {}, { maxAttempts: 5 }],
  ])('%s decides', (_what, variables, options, expected) => {
    expect(resolve(variables, options)).toMatchObject(expected);
  });

  it('is decided for each option by itself', () => {
    expect(resolve(general, { maxAttempts: 3 })).toMatchObject({ maxAttempts: 3, timeoutSeconds: 60 });
  });

  it('gives the variables of other handlers no effect', () => {
    const others = ['_work2', '_wor', '_work__vector', '__work', '_WORK'];
    const variables = Object.fromEntries(others.map((suffix) => [`MILLRACE_MAX_ATTEMPTS${suffix}`, '9']));

    expect(resolve(variables).maxAttempts).toBe(5);
  });

  it('separates the routing key with two underscores', () => {
    const variables = { MILLRACE_MAX_ATTEMPTS_work__vector: '9', MILLRACE_MAX_ATTEMPTS_work: '8' };

    expect(resolve(variables, { routingKey: 'vector' }).maxAttempts).toBe(9);
    expect(resolve(variables).maxAttempts).toBe(8);
  });

  it('applies to a definition of another copy of the package, which does not name its unset options', () => {
    const { unset: _, ...older } = defineHandler({ jobType: 'work', payload, run });

    expect(withVariables(older, general).maxAttempts).toBe(5);
    expect(withVariables(older, own).maxAttempts).toBe(2);
  });
});

describe('a retry policy', () => {
  const filters = { retryOn: ['ETIMEDOUT'], deadLetterOn: ['HTTP_404'] };
  const BASE = { MILLRACE_RETRY_BASE_DELAY: '2' };
  const MAX = { MILLRACE_RETRY_MAX_DELAY: '10m' };

  it('is fixed with MILLRACE_RETRY_DELAY, and exponential with a base or a cap', () => {
    expect(resolve({ MILLRACE_RETRY_DELAY: '2.5' }).retry).toEqual(retry.fixed(2.5));
    expect(resolve(BASE).retry).toEqual(retry.exponential({ base: 2 }));
    expect(resolve({ ...BASE, ...MAX }).retry).toEqual(retry.exponential({ base: 2, max: 600 }));
    expect(resolve(MAX).retry).toEqual(retry.exponential({ base: 60, max: 600 }));
    expect(resolve({ MILLRACE_RETRY_MAX_DELAY: '30' }).retry).toEqual(retry.exponential({ base: 30, max: 30 }));
  });

  it('combines a base of one level with a cap of another', () => {
    const own = { MILLRACE_RETRY_MAX_DELAY_work: '1m' };

    expect(resolve({ ...BASE, ...own }).retry).toEqual(retry.exponential({ base: 2, max: 60 }));
    expect(resolve({ MILLRACE_RETRY_DELAY: '5', ...own }).retry).toMatchObject({ kind: 'exponential', max: 60 });
  });

  it('keeps what a definition states about the rest of an exponential policy', () => {
    const policy = retry.exponential({ base: '1m', factor: 3, max: '1h', jitter: 0.5, ...filters });

    const changed = resolve({ MILLRACE_RETRY_BASE_DELAY_work: '5s' }, { retry: policy });

    expect(changed.retry).toEqual({ ...policy, base: 5 });
    expect(resolve({ MILLRACE_RETRY_MAX_DELAY_work: '2h' }, { retry: policy }).retry).toEqual({ ...policy, max: 7200 });
  });

  it.each([
    ['fixed', { MILLRACE_RETRY_DELAY_work: '5' }, retry.fixed(5, filters)],
    ['exponential', { MILLRACE_RETRY_BASE_DELAY_work: '5' }, retry.exponential({ base: 5, ...filters })],
  ])('that becomes %s keeps the filters of the definition, but not its jitter', (_kind, variables, expected) => {
    const policy = retry.schedule(['1m', '5m'], { jitter: 0.9, ...filters });

    expect(resolve(variables, { retry: policy }).retry).toEqual(expected);
  });

  it.each([
    ['MILLRACE_RETRY_DELAY', 'MILLRACE_RETRY_BASE_DELAY'],
    ['MILLRACE_RETRY_DELAY', 'MILLRACE_RETRY_MAX_DELAY'],
    ['MILLRACE_RETRY_DELAY_work', 'MILLRACE_RETRY_BASE_DELAY_work'],
    ['MILLRACE_RETRY_DELAY_work', 'MILLRACE_RETRY_MAX_DELAY_work'],
  ])('refuses %s beside %s', (fixed, other) => {
    const both = () => resolve({ [fixed]: '1', [other]: '2' }, { retry: retry.fixed(3) });

    expect(both).toThrow(`${fixed}: expected no value, since ${other} is set: a policy is either fixed or exponential`);
  });

  it('accepts both kinds at different levels', () => {
    const variables = { MILLRACE_RETRY_BASE_DELAY: '2', MILLRACE_RETRY_DELAY_work: '5' };

    expect(resolve(variables).retry).toEqual(retry.fixed(5));
  });
});

describe('variablesOf', () => {
  it('returns the variables that the handlers read, and no others', () => {
    const read = { MILLRACE_MAX_ATTEMPTS: '1', MILLRACE_RETRY_DELAY_a: '2', MILLRACE_JOB_TIMEOUT_a__b: ' 3 ' };
    const others = { MILLRACE_RETRY_DELAY_c: '4', MILLRACE_STAGE: 'x', PATH: '/bin', MILLRACE_JOB_TIMEOUT: '' };
    const handlers = [
      { jobType: 'a', routingKey: '' },
      { jobType: 'a', routingKey: 'b' },
    ];

    expect(variablesOf(handlers, { ...read, ...others })).toEqual({ ...read, MILLRACE_JOB_TIMEOUT_a__b: '3' });
  });

  it('knows its names with the suffix of any handler', () => {
    const names = ['MILLRACE_MAX_ATTEMPTS', 'MILLRACE_RETRY_DELAY_a_b', 'MILLRACE_JOB_TIMEOUT_a__b', 'MILLRACE_STAGE'];

    expect(names.map(isVariable)).toEqual([true, true, true, false]);
    expect(['MILLRACE_MAX_ATTEMPTS_', 'MILLRACE_MAX_ATTEMPTS_A', 'X_MILLRACE_JOB_TIMEOUT'].some(isVariable)).toBe(
      false,
    );
  });

  it('has different names for every two handlers', () => {
    const name = fc.stringMatching(/^[a-z](?:_?[a-z0-9]){0,3}_?$/);
    const key = fc.oneof(fc.constant(''), fc.stringMatching(/^[a-z][a-z0-9_]{0,3}$/));
    const handler = fc.record({ jobType: name, routingKey: key });
    fc.assert(
      fc.property(handler, handler, (one, other) => {
        const [mine] = Object.keys(variablesOf([one], { [`MILLRACE_JOB_TIMEOUT${suffix(one)}`]: '1' }));
        const isSame = one.jobType === other.jobType && one.routingKey === other.routingKey;

        expect(mine === `MILLRACE_JOB_TIMEOUT${suffix(other)}`).toBe(isSame);
      }),
    );
  });
});

function suffix({ jobType, routingKey }: { jobType: string; routingKey: string }): string {
  return `_${jobType}${routingKey === '' ? '' : `__${routingKey}`}`;
}
