import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler, type HandlerOptions } from '../../../core/handler/handler.ts';
import { DEFAULT_RETRY_POLICY, retry } from '../../../core/handler/retry-policy.ts';

const payload = z.object({ to: z.string() });
type Options = HandlerOptions<typeof payload>;

function define(options: Partial<Options> = {}) {
  return defineHandler({ jobType: 'send_mail', payload, run: async () => undefined, ...options });
}

it('fills in the defaults', () => {
  expect(define()).toMatchObject({
    jobType: 'send_mail',
    routingKey: '',
    timeoutSeconds: 30,
    memoryMb: 256,
    maxAttempts: 5,
    retry: DEFAULT_RETRY_POLICY,
    concurrency: 10,
    batch: { size: 10, windowSeconds: 0 },
    maxInFlight: 1000,
  });
});

it('keeps the given options', () => {
  const policy = retry.fixed('1m');

  const definition = define({
    routingKey: 'eu',
    timeout: '2m',
    memory: 512,
    maxAttempts: 3,
    retry: policy,
    concurrency: 2,
    batch: { size: 100, window: '5s' },
    maxInFlight: 7,
  });

  expect(definition).toMatchObject({
    routingKey: 'eu',
    timeoutSeconds: 120,
    memoryMb: 512,
    maxAttempts: 3,
    retry: policy,
    concurrency: 2,
    batch: { size: 100, windowSeconds: 5 },
    maxInFlight: 7,
  });
});

it('passes the parsed payload to run', async () => {
  const definition = defineHandler({
    jobType: 'send_mail',
    payload,
    run: async (context) => context.payload.to.toUpperCase(),
  });

  expect(await definition.run({ payload: { to: 'ada' } } as never)).toBe('ADA');
});

it.each([
  ['jobType', { jobType: undefined }],
  ['payload', { payload: undefined }],
  ['payload', { payload: { to: 'string' } }],
  ['run', { run: undefined }],
  ['memroy', { memroy: 512 }],
])('names %s when it is missing or invalid', (field, options) => {
  expect(() => define(options as never)).toThrow(expect.objectContaining({ code: 'MILLRACE_SETTING', field }));
});

describe('bounds', () => {
  const whole: [field: string, least: number, most: number, set: (value: number) => Partial<Options>][] = [
    ['timeout', 1, 880, (timeout) => ({ timeout })],
    ['memory', 128, 10_240, (memory) => ({ memory })],
    ['maxAttempts', 1, 1000, (maxAttempts) => ({ maxAttempts })],
    ['concurrency', 2, 1000, (concurrency) => ({ concurrency })],
    ['batch.size', 1, 10_000, (size) => ({ batch: { size, window: '1s' } })],
    ['batch.window', 0, 300, (window) => ({ batch: { window } })],
    ['maxInFlight', 1, 100_000, (maxInFlight) => ({ maxInFlight })],
  ];

  it.each(whole)('of %s accept %d and %d, and no value beyond them', (field, least, most, set) => {
    const refused = expect.objectContaining({ code: 'MILLRACE_SETTING', field });

    expect(() => define(set(least))).not.toThrow();
    expect(() => define(set(most))).not.toThrow();
    for (const value of [least - 1, most + 1, least + 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => define(set(value)), `${field} ${value}`).toThrow(refused);
    }
  });

  it.each(whole)('of %s apply to every number', (field, least, most, set) => {
    fc.assert(
      fc.property(fc.oneof(fc.integer(), fc.integer({ min: least, max: most }), fc.double()), (value) => {
        const legal = Number.isInteger(value) && value >= least && value <= most;

        if (legal) expect(() => define(set(value))).not.toThrow();
        else expect(() => define(set(value))).toThrow(expect.objectContaining({ field }));
      }),
    );
  });

  it('are errors with the job type, the field, the expected value and the given one', () => {
    const duration = 'expected whole seconds from 1s to 880s';
    expect(() => define({ timeout: '20m' })).toThrow(`send_mail: timeout: ${duration}, got "20m"`);
    expect(() => define({ timeout: '1.5s' })).toThrow(`send_mail: timeout: ${duration}, got "1.5s"`);
    expect(() => define({ timeout: 3600 })).toThrow(`send_mail: timeout: ${duration}, got 3600`);
    expect(() => define({ batch: { window: '10m' } })).toThrow(
      'send_mail: batch.window: expected whole seconds from 0s to 300s, got "10m"',
    );
    expect(() => define({ memory: '1GB' as never })).toThrow(
      'send_mail: memory: expected a whole number from 128 to 10240, got "1GB"',
    );
  });

  it('limit the default of maxInFlight', () => {
    expect(define({ batch: { size: 10_000, window: '1s' } }).maxInFlight).toBe(100_000);
    expect(define({ concurrency: 1000 }).maxInFlight).toBe(100_000);
  });

  it('keep the lease of a dispatched job below the retention of its message, and state how', () => {
    const slow = { timeout: '880s', concurrency: 2, batch: { size: 1 } };
    const refusal =
      'send_mail: maxInFlight: expected at most 776 with concurrency 2, or a higher concurrency, because the last job may ' +
      'wait 346240 s and SQS keeps a message for 345600 s, got 777';

    expect(() => define({ ...slow, maxInFlight: 777 })).toThrow(
      expect.objectContaining({ field: 'maxInFlight', message: refusal }),
    );
    expect(() => define({ ...slow, maxInFlight: 776 })).not.toThrow();
    expect(() => define({ ...slow, maxInFlight: 777, concurrency: 3 })).not.toThrow();
  });

  it('require a window for a batch of more than ten', () => {
    expect(() => define({ batch: { size: 10 } })).not.toThrow();
    expect(() => define({ batch: { size: 11 } })).toThrow(
      'batch.window: expected at least 1s when batch.size is over 10',
    );
  });

  const none = ['', 'SendMail', 'send-mail', '1mail', '_mail', 'send mail', 'sénd', 'mail\n', 'a.b'];
  it.each([...none, 'send__mail', 'mail__', 'a___b', '__mail'])('refuse the job type %j', (jobType) => {
    const expected = 'lower-case letters, digits and _, a letter first, without __';
    expect(() => define({ jobType })).toThrow(`jobType: expected ${expected}, got ${JSON.stringify(jobType)}`);
  });

  it.each(['a', 'a_', 'a_b', 'a_b_c9_'])('accept the job type %j', (jobType) => {
    expect(() => define({ jobType, routingKey: 'x__y__' })).not.toThrow();
  });

  it('refuse a routing key with other characters, and names that are too long together', () => {
    expect(() => define({ routingKey: 'EU' })).toThrow(/^send_mail: routingKey: expected lower-case letters/);
    expect(() => define({ jobType: 'a'.repeat(30), routingKey: 'b'.repeat(30) })).not.toThrow();
    expect(() => define({ jobType: 'a'.repeat(31), routingKey: 'b'.repeat(30) })).toThrow(
      /: jobType and routingKey: expected at most 60 characters together/,
    );
  });
});
