import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler, type HandlerOptions } from '../../../core/handler/handler.ts';
import { retry } from '../../../core/handler/retry-policy.ts';
import { VARIABLES, type Variables, withVariables } from '../../../core/handler/variables.ts';

const payload = z.object({});
const run = async () => undefined;

function resolve(variables: Variables, options: Partial<HandlerOptions<typeof payload>> = {}) {
  return withVariables(defineHandler({ jobType: 'work', payload, run, ...options }), variables);
}

describe('a value', () => {
  const DELAYS = [VARIABLES.delay, VARIABLES.base, VARIABLES.max];
  const good: [text: string, seconds: number][] = [
    ...[['5', 5] as const, ['2.0', 2] as const, ['300.0', 300] as const, ['0.25', 0.25] as const, ['0', 0] as const],
    ...[['500ms', 0.5] as const, ['30s', 30] as const, ['5m', 300] as const, ['2h', 7200] as const],
    ...[['1d', 86_400] as const, ['1.5m', 90] as const, [' 7 ', 7] as const],
  ].map(([text, seconds]) => [text, seconds]);

  it.each(good)('of a delay can be %j', (text, seconds) => {
    expect(resolve({ MILLRACE_RETRY_DELAY: text }).retry).toEqual(retry.fixed(seconds));
  });

  const BAD = ['abc', '-1', '5 minutes', '1e3', '.5', '5.', '1,5', 'NaN', 'Infinity', '0x10', '5M', '9'.repeat(400)];

  it.each(BAD.flatMap((text) => ['', '_work'].map((suffix) => [text, suffix])))(
    'of %j is refused by the name of its variable, with the suffix "%s"',
    (text, suffix) => {
      for (const name of [...DELAYS, VARIABLES.timeout, VARIABLES.maxAttempts]) {
        const field = `${name}${suffix}`;
        const stated = { maxAttempts: 3, retry: retry.fixed(1), timeout: 20 };

        const refused = expect.objectContaining({ code: 'MILLRACE_SETTING', field });
        expect(() => resolve({ [field]: text as string }, stated), field).toThrow(refused);
      }
    },
  );

  it.each([
    ['MILLRACE_RETRY_DELAY', '366d', 'at most 365d'],
    ['MILLRACE_MAX_ATTEMPTS', '0', 'a whole number from 1 to 1000'],
    ['MILLRACE_MAX_ATTEMPTS', '1001', 'a whole number from 1 to 1000'],
    ['MILLRACE_MAX_ATTEMPTS', '2.0', 'a whole number from 1 to 1000'],
    ['MILLRACE_JOB_TIMEOUT', '0', 'whole seconds from 1s to 880s'],
    ['MILLRACE_JOB_TIMEOUT', '881', 'whole seconds from 1s to 880s'],
    ['MILLRACE_JOB_TIMEOUT', '2.5', 'whole seconds from 1s to 880s'],
    ['MILLRACE_JOB_TIMEOUT', '15m', 'whole seconds from 1s to 880s'],
    ['MILLRACE_RETRY_MAX_DELAY', 'soon', 'a duration such as 30s, 5m or 2h, or seconds such as 5 or 2.5'],
  ])('%s=%s is refused: expected %s', (name, text, expected) => {
    expect(() => resolve({ [name]: text })).toThrow(`${name}: expected ${expected}, got ${JSON.stringify(text)}`);
  });

  it('of any text is either a value within bounds or refused by the name of its variable', () => {
    const name = fc.constantFrom(...Object.values(VARIABLES));
    const text = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.integer().map((n) => `${n}s`),
    );
    fc.assert(
      fc.property(name, text, (variable, value) => {
        try {
          const { maxAttempts, timeoutSeconds, retry: policy } = resolve({ [variable]: value });

          expect([maxAttempts, timeoutSeconds].every(Number.isInteger)).toBe(true);
          expect(JSON.parse(JSON.stringify(policy))).toEqual(policy);
        } catch (error) {
          expect(error).toMatchObject({ code: 'MILLRACE_SETTING', field: variable });
        }
      }),
    );
  });
});

describe('a timeout', () => {
  const wide = { concurrency: 2, batch: { size: 1 }, maxInFlight: 777 };

  it.each(['MILLRACE_JOB_TIMEOUT', 'MILLRACE_JOB_TIMEOUT_work'])(
    'of %s that makes a lease longer than SQS keeps a message is refused by its name',
    (name) => {
      const sentence =
        `${name}: expected a shorter time, or a lower maxInFlight of work, because its last job may wait 346240 s ` +
        'and SQS keeps a message for 345600 s, got 880';

      expect(() => resolve({ [name]: '880' }, wide)).toThrow(sentence);
      expect(() => resolve({ [name]: '870' }, wide)).not.toThrow();
    },
  );
});
