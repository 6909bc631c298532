import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineHandler } from '../../core/handler/handler.ts';
import { Millrace } from '../../infra/millrace.ts';
import { checkSize } from '../../infra/stack.ts';
import { EXISTING } from './synthesise.ts';

interface Template {
  readonly Resources: Readonly<
    Record<string, { Type: string; DependsOn?: string[]; Properties: Record<string, unknown> }>
  >;
  readonly Outputs?: object;
  readonly Parameters?: object;
}

/** 80 % of the limits of AWS. */
const MOST = { resources: 400, outputs: 160, parameters: 160, bytes: 800_000, rolePolicies: 8_192, variables: 3_276 };

const entryOf = (_: unknown, n: number) => {
  const jobType = `handler_with_a_long_name_${n}`;
  const definition = defineHandler({ jobType, payload: z.unknown(), concurrency: 2, run: async () => undefined });
  return { definition, name: jobType, file: resolve('functions/handlers/send-reminder.ts') };
};

/** Synthesises a stage, and returns its templates: that of the stage first, then those of nested stacks. */
function synthesise(handlers: number, handlerStacks: number | undefined): Template[] {
  const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
  const stack = new Stack(app, 'Shop');
  new Millrace(stack, 'Jobs', {
    stage: 'shop',
    handlers: Array.from({ length: handlers }, entryOf),
    handlerStacks,
    alarms: { email: 'oncall@example.com', webhook: 'https://hooks.example.com/x' },
    database: {
      kind: 'existing',
      ownerSecret: String(EXISTING.databaseOwnerSecret),
      runtimeSecret: String(EXISTING.databaseRuntimeSecret),
    },
  });
  checkSize(stack, handlers);
  app.synth();
  const files = readdirSync(app.outdir).filter((file) => file.endsWith('template.json'));
  return files
    .toSorted((one, other) => one.length - other.length)
    .map((file) => JSON.parse(readFileSync(join(app.outdir, file), 'utf8')));
}

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value ?? {}, null, 1));
const propertiesOf = ({ Resources }: Template, type: string) =>
  Object.values(Resources).flatMap(({ Type, Properties }) => (Type === type ? [Properties] : []));

describe.each([
  ['300 handlers in 10 nested stacks', 300, 10, 11],
  ['40 handlers in one stack', 40, undefined, 1],
])('%s', (_name, handlers, handlerStacks, templates) => {
  const all = synthesise(handlers, handlerStacks);
  const [stage] = all as [Template, ...Template[]];

  it('has each handler once', () => {
    expect(all).toHaveLength(templates);
    expect(all.flatMap((one) => propertiesOf(one, 'AWS::SQS::Queue'))).toHaveLength(2 * handlers);
    expect(all.flatMap((one) => propertiesOf(one, 'AWS::Logs::SubscriptionFilter'))).toHaveLength(handlers);
  });

  it.each<[limit: string, most: number, measure: (template: Template) => number]>([
    ['resources', MOST.resources, ({ Resources }) => Object.keys(Resources).length],
    ['outputs', MOST.outputs, ({ Outputs }) => Object.keys(Outputs ?? {}).length],
    ['parameters', MOST.parameters, ({ Parameters }) => Object.keys(Parameters ?? {}).length],
    ['bytes of the template', MOST.bytes, bytesOf],
    ['bytes of the policies of a role', MOST.rolePolicies, (one) => most(one, 'AWS::IAM::Role', 'Policies')],
    [
      'bytes of the variables of a function',
      MOST.variables,
      (one) => most(one, 'AWS::Lambda::Function', 'Environment'),
    ],
    ['policies of a function', 10, (one) => propertiesOf(one, 'AWS::Lambda::Permission').length],
  ])('is a fifth below the limit of AWS for the %s', (_limit, limit, measure) => {
    expect(Math.max(...all.map(measure))).toBeLessThanOrEqual(limit);
  });

  it('migrates before any handler, and writes the registry after all', () => {
    const find = (step: string) =>
      Object.keys(stage.Resources).filter((id) => RegExp(`${step}Step[0-9A-F]{8}$`).test(id));
    const nested = Object.entries(stage.Resources).filter(([, { Type }]) => Type === 'AWS::CloudFormation::Stack');

    const early = nested.filter(([, { DependsOn = [] }]) => !find('Migrate').some((id) => DependsOn.includes(id)));

    const after = find('Registry').flatMap((id) => stage.Resources[id]?.DependsOn ?? []);
    expect(nested).toHaveLength(templates - 1);
    expect(early).toEqual([]);
    expect(after).toEqual(expect.arrayContaining(nested.map(([id]) => id)));
  });
});

function most(template: Template, type: string, property: string): number {
  return Math.max(0, ...propertiesOf(template, type).map((properties) => bytesOf(properties[property])));
}
