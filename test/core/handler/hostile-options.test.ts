import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { SettingError } from '../../../core/errors.ts';
import { defineHandler, type HandlerDefinition } from '../../../core/handler/handler.ts';
import { retry } from '../../../core/handler/retry-policy.ts';
import { registerHandlers } from '../../../core/registry/register-handlers.ts';
import { openDatabaseEngine } from '../../support/database-engine.ts';

const engine = await openDatabaseEngine();

const HOSTILE: readonly unknown[] = [
  ...[undefined, null, true, false, 0, 1, 3, -1, 1.5, 5n, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, 1e300],
  ...['', ' ', 'x', '3', '1h', '5m', 'TypeError', '\0', '\ud800', 'a'.repeat(10_000), '__proto__'],
  ...[[], [1], ['1m'], [undefined], {}, { size: 5 }, { sise: 5 }, { kind: 'fixed' }, { kind: 'toString', jitter: 0 }],
  ...[Object.create(null), new Date(0), new Map(), new Set(['x']), Symbol('x'), () => 5, class {}, /x/, new Error('x')],
];
const POLICIES: readonly unknown[] = [
  ...HOSTILE.flatMap((value) => [
    { ...retry.fixed('1m'), delay: value },
    { ...retry.fixed('1m'), jitter: value },
    { ...retry.fixed('1m'), retryOn: value },
    { ...retry.fixed('1m'), deadLetterOn: value },
    { ...retry.fixed('1m'), deadLetterOn: [value] },
    { ...retry.fixed('1m'), kind: value },
    { ...retry.fixed('1m'), attempts: value },
    { ...retry.schedule(['1m']), delays: value },
    { ...retry.schedule(['1m']), delays: [value] },
    { ...retry.linear({ base: 1, step: 1 }), step: value },
    { ...retry.exponential({ base: 1 }), factor: value },
    { ...retry.exponential({ base: 1 }), max: value },
  ]),
];
const VALUES: Record<string, readonly unknown[]> = {
  jobType: HOSTILE,
  routingKey: HOSTILE,
  payload: HOSTILE,
  timeout: HOSTILE,
  memory: HOSTILE,
  maxAttempts: HOSTILE,
  retry: [...HOSTILE, ...POLICIES],
  concurrency: HOSTILE,
  batch: [...HOSTILE, ...HOSTILE.flatMap((value) => [{ size: value }, { window: value }, { size: 20, window: value }])],
  maxInFlight: HOSTILE,
  schedules: [
    ...HOSTILE.map((value) => (value === undefined || isEmpty(value) ? 1 : value)),
    ...HOSTILE.map((value) => ({ nightly: value })),
    ...HOSTILE.flatMap((value) =>
      [
        'cron',
        'zone',
        'payload',
        'tickKey',
        'catchUp',
        'overlap',
        'spread',
        'startBy',
        'priority',
        'uniqueKey',
        'sise',
      ].map((key) => ({ nightly: { cron: '0 3 * * *', [key]: value } })),
    ),
    ...HOSTILE.map((value) => ({ nightly: { every: value } })),
    ...['', 'Nightly', '7', 'a b', 'a'.repeat(101)].map((name) => ({ [name]: { cron: '0 3 * * *' } })),
  ],
  aws: [
    ...HOSTILE.map((value) => (value === undefined || isEmpty(value) ? 1 : value)),
    ...HOSTILE.flatMap((value) => [
      { policy: value === undefined || isEmpty(value) ? 1 : value },
      { policy: [value] },
      { policy: [{ actions: ['s3:GetObject'], resources: value }] },
      { policy: [{ actions: [value], resources: ['*'] }] },
      { environment: { REGION_OF_SHOP: typeof value === 'string' ? 1 : value } },
    ]),
  ],
  nativeModules: [...HOSTILE, ...HOSTILE.map((value) => [value]), ['../x'], ['sharp', 'a b'], ['@x/y'], ['sharp@1']],
  settings: [
    ...HOSTILE.filter((value) => value !== undefined && !isEmpty(value)),
    ...HOSTILE.flatMap((value) => [{ API_URL: value }, { API_URL: { default: value } }]),
    ...HOSTILE.filter((value) => typeof value === 'string').map((name) => ({ [`${name} `]: 'required' })),
  ],
  secrets: [...HOSTILE.filter((value) => value !== undefined), ...HOSTILE.map((value) => [value])],
  run: HOSTILE,
};

/** An object without schedules, which is valid. */
function isEmpty(value: unknown): boolean {
  return Object.prototype.toString.call(value) === '[object Object]' && Object.keys(value as object).length === 0;
}

function define(options: object): HandlerDefinition | SettingError {
  try {
    return defineHandler({ jobType: 'send_mail', payload: z.object({}), run: async () => 0, ...options });
  } catch (error) {
    if (error instanceof SettingError) return error;
    throw error;
  }
}

describe.each(Object.entries(VALUES))('%s', (option, values) => {
  it('is refused with the job type and the option, or the database accepts it', async () => {
    const results = values.map((value) => define({ [option]: value }));
    const refused = results.filter((result) => result instanceof SettingError);
    const accepted = results.filter((result): result is HandlerDefinition => !(result instanceof SettingError));

    for (const { message } of refused) expect(message).toMatch(option === 'jobType' ? /: expected / : /^send_mail: /);
    expect(refused.length).toBeGreaterThan(values.length / 2);
    for (const definition of accepted) {
      const addresses = { queueUrl: 'q', deadLetterQueueUrl: 'd', functionName: 'f' };
      await registerHandlers({ db: engine.db, stage: 'local' }, [{ definition, ...addresses }]);
    }
    expect(accepted.every(({ retry: policy }) => typeof policy.jitter === 'number')).toBe(true);
  });
});

it('refuses any other value in place of the options', () => {
  for (const options of HOSTILE) expect(() => defineHandler(options as never)).toThrow(SettingError);
});

describe('a builder', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['schedule of a string', () => retry.schedule('5m' as never), /^retry\.schedule\(delays\): expected a list/],
    ['schedule of nothing', () => retry.schedule(undefined as never), /^retry\.schedule\(delays\): expected a list/],
    ['linear of nothing', () => retry.linear(undefined as never), /^retry\.linear\(options\): expected an object/],
    ['exponential of a number', () => retry.exponential(5 as never), /^retry\.exponential\(options\): expected an/],
    ['options that are a number', () => retry.fixed('1m', 0.2 as never), /^retry.fixed\(options\): expected an object/],
    [
      'a mistyped option',
      () => retry.fixed('1m', { jiter: 0.2 } as never),
      /^retry.fixed: unknown option jiter; the options are jitter, retryOn, deadLetterOn; did you mean jitter\?$/,
    ],
    [
      'a mistyped option of linear',
      () => retry.linear({ base: 1, step: 1, maxx: 2 } as never),
      /^retry.linear: unknown option maxx; the options are base, step, max, jitter,/,
    ],
    [
      'a mistyped option of exponential',
      () => retry.exponential({ base: 1, min: 3 } as never),
      /^retry.exponential: unknown option min; the options are base, factor, max, jitter, retryOn, deadLetterOn$/,
    ],
    [
      'a mistyped option of schedule',
      () => retry.schedule([1], { max: 3 } as never),
      /^retry.schedule: unknown option max; the options are jitter, retryOn, deadLetterOn$/,
    ],
    ['jitter as text', () => retry.fixed('1m', { jitter: '0.5' as never }), /^retry jitter: expected a number/],
    [
      'one error class in place of a list',
      () => retry.fixed('1m', { deadLetterOn: 'TypeError' as never }),
      /^retry deadLetterOn: expected a list of error classes or codes, such as \['TypeError'\], got "TypeError"/,
    ],
    ['a class itself', () => retry.fixed('1m', { retryOn: [TypeError as never] }), /^retry retryOn: expected a list/],
    ['a factor as text', () => retry.exponential({ base: 1, factor: '2' as never }), /^retry\.exponential\(factor\)/],
  ])('refuses %s', (_what, build, message) => {
    expect(build).toThrow(message);
  });
});
