import { resolve } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { expect, it } from 'vitest';
import type { HandlerEntry } from '../../core/catalog/import-handler.ts';
import { Millrace } from '../../infra/millrace.ts';
import echo from '../functions/deployed-handler.ts';
import { Deployed } from './deployed.ts';
import { KEY, type Statement, usesOf } from './key-uses.ts';
import { EXISTING } from './synthesise.ts';

const RUNTIME = String(EXISTING.databaseRuntimeSecret);
const TOKEN = RUNTIME.replace('runtime', 'token');
const file = resolve('test/functions/deployed-handler.ts');
const entry = (jobType: string, named: object): HandlerEntry => ({
  ...{ file, name: jobType, definition: { ...echo, jobType, ...named } },
});

/** Makes a stack from these handlers, without native packages, which require the network. */
function make(given: Partial<ConstructorParameters<typeof Millrace>[2]>, ofStack?: (stack: Stack) => typeof given) {
  const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
  const stack = new Stack(app, 'Shop');
  const database = {
    kind: 'existing',
    ownerSecret: String(EXISTING.databaseOwnerSecret),
    runtimeSecret: RUNTIME,
  } as const;
  const millrace = new Millrace(stack, 'Jobs', { stage: 'shop', database, ...given, ...ofStack?.(stack) });
  return { stack, millrace };
}

it('each function has its settings and the right to read its secrets, and the template has no value of one', () => {
  const handlers = [
    entry('echo', {
      settings: { GREETING: 'required', LIMIT: { default: '9' }, FROM: 'required' },
      secrets: ['TOKEN'],
    }),
    entry('mail', { settings: {}, secrets: ['MAIL_KEY', 'TOKEN'] }),
    entry('plain', { settings: {}, secrets: [] }),
  ];
  const environment = { GREETING: 'ignored', FROM: 'a@example.com', TOKEN: 'hunter2', LIMIT: '', OTHER: 'not named' };

  const { stack, millrace } = make({ handlers, settings: { GREETING: 'hi' }, variables: environment }, (scope) => ({
    secrets: { TOKEN, MAIL_KEY: new Secret(scope, 'MailKey'), UNUSED: TOKEN },
  }));

  const deployed = new Deployed(stack);
  const made = { Ref: deployed.idOf('AWS::SecretsManager::Secret', {}) };
  const variablesOf = (name: string) => {
    const lambda = deployed.find('AWS::Lambda::Function', 'FunctionName', `millrace-shop-${name}`);
    const { Variables = {} } = (lambda?.Environment ?? {}) as { Variables?: Record<string, unknown> };
    return Object.fromEntries(Object.entries(Variables).filter(([key]) => !/^(MILLRACE_(?!SECRETS)|NODE_)/.test(key)));
  };
  const secretsOf = (name: string) => {
    const statements = deployed.statementsOf(`millrace-shop-${name}`);
    return statements
      .filter(({ Action }) => JSON.stringify(Action).includes('secretsmanager'))
      .flatMap((one) => one.Resource);
  };
  // As today, the property `settings` is for all handlers.
  expect(variablesOf('echo')).toEqual({ GREETING: 'hi', FROM: 'a@example.com', MILLRACE_SECRETS: `TOKEN=${TOKEN}` });
  expect(variablesOf('plain')).toEqual({ GREETING: 'hi' });
  const both = { 'Fn::Join': ['', ['MAIL_KEY=', made, `,TOKEN=${TOKEN}`]] };
  expect(variablesOf('mail')).toEqual({ GREETING: 'hi', MILLRACE_SECRETS: both });
  expect(secretsOf('echo')).toEqual([RUNTIME, TOKEN]);
  expect(secretsOf('mail')).toEqual([RUNTIME, made, TOKEN]);
  expect(secretsOf('plain')).toEqual([RUNTIME]);
  for (const name of ['dispatcher', 'dlq-mirror', 'api', 'registry']) expect(secretsOf(name)).toEqual([RUNTIME]);
  expect(JSON.stringify(deployed.template.toJSON())).not.toMatch(/hunter2|not named/);
  const warnings = millrace.node.metadata.map(({ data }) => String(data));
  expect(warnings).toEqual([expect.stringContaining('secrets.UNUSED has no effect: no handler names it')]);
});

it.each(['password', 'iam'] as const)(
  'with a key and the login %s, a handler that names a secret may decrypt it',
  (login) => {
    const handlers = [
      entry('echo', { settings: {}, secrets: ['TOKEN'] }),
      entry('plain', { settings: {}, secrets: [] }),
    ];
    const iam = { login: 'iam', user: 'shop', resourceId: 'db-ABC', host: 'db.example.com', name: 'jobs' } as const;
    const choice = login === 'iam' ? iam : { runtimeSecret: RUNTIME };
    const database = { kind: 'existing', ownerSecret: String(EXISTING.databaseOwnerSecret), ...choice } as const;

    const { stack } = make({ handlers, database, kmsKey: KEY, secrets: { TOKEN } });

    const deployed = new Deployed(stack);
    const usesIn = (name: string) => usesOf(deployed.statementsOf(`millrace-shop-${name}`) as unknown as Statement[]);
    const uses = ['secretsmanager kms:Decrypt', 'sqs kms:Decrypt'];
    expect(usesIn('echo')).toEqual(uses);
    expect(usesIn('plain')).toEqual(login === 'iam' ? uses.slice(1) : uses);
  },
);

it('a synth refuses a standby of an existing database', () => {
  expect(() => make({ handlers: [entry('echo', {})], secrets: { TOKEN }, standby: true })).toThrow(
    'standby: expected false, since database is existing, got true',
  );
});

it('a synth names every setting and secret that it lacks', () => {
  const handlers = [entry('echo', { settings: { GREETING: 'required' } }), entry('mail', { secrets: ['MAIL_KEY'] })];

  expect(() => make({ handlers, variables: { TOKEN: 'hunter2' } })).toThrow(
    'echo: settings.GREETING: expected GREETING in the environment of cdk, or in the setting settings, such as ' +
      '{"GREETING": "…"}, got nothing; echo: secrets.TOKEN: expected its ARN in the setting secrets, such as ' +
      '{"TOKEN": "arn:…"}, after aws secretsmanager create-secret, got nothing; mail: secrets.MAIL_KEY: expected',
  );
});

it('a synth refuses a setting that looks like a secret, and a secret that is not an ARN, without the value', () => {
  const handlers = [entry('echo', { settings: { API_KEY: 'required' } })];

  expect(() => make({ handlers, secrets: { TOKEN }, variables: { API_KEY: 'hunter2' } })).toThrow(
    /^settings\.API_KEY: expected no secret, .* list it in secrets of its handler; .* list API_KEY in notSecret, got "\*\*\*"$/,
  );
  expect(() => make({ handlers: [entry('echo', {})], secrets: { TOKEN: 'hunter2' } })).toThrow(
    /^secrets\.TOKEN: expected the full ARN of a secret in Secrets Manager, .*, got "\*\*\*"$/,
  );
});
