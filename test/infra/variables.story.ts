import { describe, expect, it } from 'vitest';
import type { Context } from '../../infra/settings/context.ts';
import { readSettings } from '../../infra/settings/settings.ts';
import { Deployed } from './deployed.ts';
import { EXISTING, synthesise } from './synthesise.ts';

const PROD: Context = { ...EXISTING, stage: 'prod' };

/** Returns the variables of a function that set the attempts of handlers. */
function variablesIn(deployed: Deployed, name: string) {
  const lambda = deployed.find('AWS::Lambda::Function', 'FunctionName', `millrace-prod-${name}`);
  const { Variables } = (lambda?.Environment ?? {}) as { Variables?: Record<string, unknown> };
  return Object.fromEntries(Object.entries(Variables ?? {}).filter(([key]) => /_(ATTEMPTS|DELAY|TIMEOUT)/.test(key)));
}

describe('a synth with variables in its environment', async () => {
  const general = { MILLRACE_MAX_ATTEMPTS: '7', MILLRACE_RETRY_DELAY: '5' };
  const own = { MILLRACE_JOB_TIMEOUT_make_thumbnail: '2m' };
  const { stack } = await synthesise(PROD, { ...general, ...own, PATH: '/bin', MILLRACE_API_KEY: 'x' });
  const deployed = new Deployed(stack);

  it('derives the function, the queue and its visibility from the timeout of a variable', () => {
    const lambda = deployed.find('AWS::Lambda::Function', 'FunctionName', 'millrace-prod-make_thumbnail');
    const queue = deployed.find('AWS::SQS::Queue', 'QueueName', 'millrace-prod-make_thumbnail');

    expect(lambda).toMatchObject({ Timeout: 130 });
    expect(queue).toMatchObject({ VisibilityTimeout: 780 });
  });

  it('passes to each handler the variables that it reads, and to the registry those of all', () => {
    expect(variablesIn(deployed, 'make_thumbnail')).toEqual({ ...general, ...own });
    expect(variablesIn(deployed, 'send_reminder')).toEqual(general);
    expect(variablesIn(deployed, 'registry')).toEqual({ ...general, ...own });
    expect(variablesIn(deployed, 'dispatcher')).toEqual({});
    expect(variablesIn(deployed, 'api')).toEqual({});
  });
});

it('a variable in the setting `settings` overrides the environment, and does not count as a secret', async () => {
  const settings = {
    MILLRACE_JOB_TIMEOUT_send_reminder: '40',
    MILLRACE_MAX_ATTEMPTS_send_api_key: '3',
    SMTP_FROM: 'x',
  };

  const { stack } = await synthesise({ ...PROD, settings }, { MILLRACE_JOB_TIMEOUT_send_reminder: '50' });

  const deployed = new Deployed(stack);
  const lambda = deployed.find('AWS::Lambda::Function', 'FunctionName', 'millrace-prod-send_reminder');
  expect(lambda).toMatchObject({ Timeout: 50 });
  expect(variablesIn(deployed, 'send_reminder')).toEqual({ MILLRACE_JOB_TIMEOUT_send_reminder: '40' });
  expect(variablesIn(deployed, 'make_thumbnail')).toEqual({});
  expect(readSettings({ ...PROD, settings }).settings).toEqual({ SMTP_FROM: 'x' });
});

describe('a synth refuses', () => {
  it('an invalid value by the name of its variable, from the environment and from the setting `settings`', async () => {
    const wrong = { MILLRACE_RETRY_DELAY_send_reminder: 'soon' };

    const sentence = 'MILLRACE_RETRY_DELAY_send_reminder: expected a duration';
    await expect(synthesise(PROD, wrong)).rejects.toThrow(sentence);
    await expect(synthesise({ ...PROD, settings: wrong })).rejects.toThrow(sentence);
  });

  it('variables that are too large for one function', async () => {
    const settings = { LONG: 'x'.repeat(3000) };
    const variables = {
      MILLRACE_MAX_ATTEMPTS: '7',
      MILLRACE_RETRY_DELAY: '5',
      MILLRACE_JOB_TIMEOUT_send_reminder: '9',
    };

    const made = synthesise({ ...PROD, settings }, variables);

    await expect(made).rejects.toThrow(/^settings of \w+: expected at most 3072 bytes in total/);
  });
});

it('a synth warns of each variable without effect', async () => {
  const environment = { MAX_RETRIES: '3', MILLRACE_RETRY_DELAY_send_remindr: '5', MILLRACE_STAGE: 'x', CI: 'true' };

  const { stack } = await synthesise(PROD, environment);

  const lines = stack.node
    .findChild('Millrace')
    .node.metadata.filter(({ type }) => type === 'aws:cdk:warning')
    .map(({ data }) => String(data).replace(/ \[ack: .*\]$/, ''));
  expect(lines).toEqual([
    'MAX_RETRIES has no effect: set MILLRACE_MAX_ATTEMPTS, which counts the first attempt too',
    'MILLRACE_RETRY_DELAY_send_remindr has no effect; did you mean MILLRACE_RETRY_DELAY_send_reminder?',
  ]);
});

it('a synth names every variable whose value is invalid', async () => {
  const environment = { MILLRACE_MAX_ATTEMPTS: '0', MILLRACE_RETRY_DELAY_send_reminder: 'soon' };

  const made = synthesise(PROD, environment);

  await expect(made).rejects.toThrow(
    /MILLRACE_MAX_ATTEMPTS: expected .+; MILLRACE_RETRY_DELAY_send_reminder: expected a duration/,
  );
});
