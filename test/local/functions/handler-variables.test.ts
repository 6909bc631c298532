import { expect, it } from 'vitest';
import type { Variables } from '../../../core/handler/variables.ts';
import { BROKEN, openHandlersWorld } from './handlers-world.ts';

const { engine, open, registered } = await openHandlersWorld();

it('deploys handlers with their variables, and again when a variable changes', async () => {
  let variables: Variables = { MILLRACE_RETRY_DELAY_a: '7', MILLRACE_JOB_TIMEOUT_a: '60', MILLRACE_STAGE: 'x' };
  const { handlers, specs, handler, sync } = await open(() => variables);
  const rows = () =>
    engine.sql("select max_attempts, timeout_seconds, retry_policy->>'delay' as delay from millrace.handlers");

  await sync({ a: handler('a') });
  const before = await rows();
  variables = { MILLRACE_MAX_ATTEMPTS_a: '9' };
  await sync({ a: handler('a') });

  expect(before).toMatchObject([{ timeout_seconds: 60, delay: '7' }]);
  expect(await rows()).toMatchObject([{ max_attempts: 9, timeout_seconds: engine.definition.timeoutSeconds }]);
  expect(handlers.variables()).toEqual(variables);
  expect(specs.map(({ timeoutSeconds, environment }) => [timeoutSeconds, environment.SMTP_URL])).toEqual([
    [70, 'smtp://x'],
    [engine.definition.timeoutSeconds + 10, 'smtp://x'],
  ]);
  expect(specs.map(({ environment }) => environment)).toMatchObject([{ MILLRACE_JOB_TIMEOUT_a: '60' }, variables]);
  expect(specs[0]!.environment).not.toHaveProperty('MILLRACE_STAGE');
});

it('gives a handler the variables of its definition, which its environment overrides', async () => {
  const { specs, handler, sync } = await open(() => ({}));
  const environment = { INVOICE_FORMAT: 'pdf', SMTP_URL: 'smtp://other' };

  await sync({ a: handler('a', { definition: { ...engine.definition, jobType: 'a', aws: { environment } } }) });

  expect(specs[0]?.environment).toMatchObject({ INVOICE_FORMAT: 'pdf', SMTP_URL: 'smtp://x' });
});

it('changes nothing when a variable has an invalid value', async () => {
  let variables: Variables = {};
  const { specs, handler, sync } = await open(() => variables);
  await sync({ a: handler('a'), b: handler('b') });
  variables = { MILLRACE_RETRY_DELAY_b: 'soon' };

  const syncing = sync({ b: handler('b'), c: handler('c') });

  await expect(syncing).rejects.toThrow('MILLRACE_RETRY_DELAY_b: expected a duration');
  expect(await registered()).toEqual(['a', 'b']);
  expect(specs).toHaveLength(2);
});

it('prints each variable without effect once', async () => {
  const variables = { MAX_RETRIES: '3', MILLRACE_MAX_ATTEMPTS_broken: '2', MILLRACE_FOO: '1' };
  const { lines, handler, sync } = await open(() => variables);

  await sync({ a: handler('a') });
  await sync({ a: handler('a'), broken: BROKEN });

  expect(lines).toEqual([
    'MAX_RETRIES has no effect: set MILLRACE_MAX_ATTEMPTS, which counts the first attempt too',
    'MILLRACE_FOO has no effect: Millrace reads no such variable',
    'MILLRACE_MAX_ATTEMPTS_broken has no effect: no handler has this name',
    BROKEN,
  ]);
});

it.each([
  { what: 'a deleted handler', before: { MILLRACE_MAX_ATTEMPTS_b: '2' }, names: ['a', 'b'] },
  { what: 'a changed .env', before: {}, names: ['a'] },
])('names the variables of no handler after $what', async ({ before, names }) => {
  let variables: Variables = before;
  const { lines, handler, sync } = await open(() => variables);
  await sync(Object.fromEntries(names.map((name) => [name, handler(name)])));
  const begun = [...lines];
  variables = { MILLRACE_MAX_ATTEMPTS_b: '2' };

  await sync({ a: handler('a') });

  expect(begun).toEqual([]);
  expect(lines).toContain('MILLRACE_MAX_ATTEMPTS_b has no effect: no handler has this name');
});

const REFUSED = {
  MILLRACE_MAX_ATTEMPTS: '0',
  MILLRACE_RETRY_DELAY_a: 'soon',
  MILLRACE_JOB_TIMEOUT_a: '1.5',
  MILLRACE_RETRY_DELAY_b: '5',
  MILLRACE_RETRY_BASE_DELAY_b: '5',
  MILLRACE_MAX_ATTEMPTS_c: '2',
  MAX_RETRIES: '3',
};

it.each([true, false])(
  'names every refused value and every variable without effect, at the start: %s',
  async (start) => {
    let variables: Variables = start ? REFUSED : {};
    const { lines, handler, sync } = await open(() => variables);
    const files = { a: handler('a'), b: handler('b') };
    if (!start) await sync(files);
    variables = REFUSED;

    const syncing = sync(files);

    await expect(syncing).rejects.toThrow(
      'MILLRACE_MAX_ATTEMPTS: expected a whole number from 1 to 1000, got "0"; ' +
        'MILLRACE_JOB_TIMEOUT_a: expected whole seconds from 1s to 880s, got "1.5"; ' +
        'MILLRACE_RETRY_DELAY_a: expected a duration',
    );
    await expect(syncing).rejects.toThrow(
      '; MILLRACE_RETRY_DELAY_b: expected no value, since MILLRACE_RETRY_BASE_DELAY_b',
    );
    await expect(sync(files)).rejects.toThrow('MILLRACE_RETRY_DELAY_b');
    expect(lines).toEqual([
      'MAX_RETRIES has no effect: set MILLRACE_MAX_ATTEMPTS, which counts the first attempt too',
      'MILLRACE_MAX_ATTEMPTS_c has no effect: no handler has this name',
    ]);
  },
);

it('gives the API a file that was saved while a variable had an invalid value', async () => {
  let variables: Variables = {};
  const { inApi, handler, changed, sync } = await open(() => variables);
  await sync({ a: handler('a') });
  const saved = await changed('a');
  variables = { MILLRACE_MAX_ATTEMPTS: '0' };
  await expect(sync({ a: saved })).rejects.toThrow('MILLRACE_MAX_ATTEMPTS');
  variables = {};

  await sync({ a: { ...saved, isNew: false } });

  expect(inApi).toEqual([['a']]);
});

const NAMED = { settings: { API_URL: 'required', PAGE_SIZE: { default: '50' } }, secrets: ['API_TOKEN'] } as const;

it('passes to a handler the settings and secrets that its definition names, and again when one changes', async () => {
  let variables: Variables = { API_URL: 'https://a.test', API_TOKEN: 'one', OTHER: 'x' };
  const { specs, lines, handler, sync } = await open(() => variables);
  const named = handler('a', { definition: { ...engine.definition, jobType: 'a', ...NAMED } });

  await sync({ a: named, b: handler('b') });
  variables = { ...variables, API_TOKEN: 'two' };
  await sync({ a: named, b: handler('b') });

  const { a, b } = Object.groupBy(specs, ({ name }) => name.at(-1) as 'a' | 'b');
  // The handlers are deployed at the same time, in any order.
  expect(a).toMatchObject(
    ['one', 'two'].map((API_TOKEN) => ({ environment: { API_URL: 'https://a.test', API_TOKEN } })),
  );
  expect(b?.map(({ environment }) => environment.API_URL)).toEqual([undefined]);
  for (const { environment } of specs)
    for (const name of ['OTHER', 'PAGE_SIZE']) expect(environment).not.toHaveProperty(name);
  expect(lines).toEqual(['a was reloaded']);
});

it.each([true, false])(
  'refuses a handler without a required setting or a secret by name, and no other, at the start: %s',
  async (start) => {
    const complete = { API_URL: 'https://a.test', API_TOKEN: 'one' };
    let variables: Variables = start ? {} : complete;
    const { handlers, specs, lines, handler, sync } = await open(() => variables);
    const named = handler('a', { file: '/x/a.ts', definition: { ...engine.definition, jobType: 'a', ...NAMED } });
    if (!start) await sync({ a: named, b: handler('b') });

    variables = { API_URL: ' ', PAGE_SIZE: '9' };
    await sync({ a: named, b: handler('b') });

    const fault =
      'a.ts: settings.API_URL: expected API_URL=… in .env or in the environment, got nothing; ' +
      'secrets.API_TOKEN: expected API_TOKEN=… in .env or in the environment, got nothing';
    expect(handlers.complaints()).toEqual([expect.stringContaining(fault)]);
    expect(lines).toEqual([expect.stringContaining(fault)]);
    expect(await registered()).toEqual(start ? ['b'] : ['a', 'b']);
    variables = complete;
    await sync({ a: named, b: handler('b') });
    expect(await registered()).toEqual(['a', 'b']);
    expect(handlers.complaints()).toEqual([]);
    expect(specs.filter(({ name }) => name === 'millrace-local-a')).toHaveLength(1);
  },
);
