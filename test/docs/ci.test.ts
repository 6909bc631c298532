import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { openProgram } from '../../cli/run.ts';
import { readSettings } from '../../infra/settings/settings.ts';
import { ROOT, readDocument } from './documents.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly needs?: string;
  readonly if?: string;
  readonly environment?: string;
  readonly env?: { readonly STAGE?: string };
  readonly permissions?: Readonly<Record<string, string>>;
  readonly concurrency?: Readonly<Record<string, unknown>>;
  readonly steps: readonly Step[];
}

const WORKFLOW = join(ROOT, 'templates/ci/deploy.yml');
const ROLE = join(ROOT, 'templates/ci/deploy-role.yml');
const BOOTSTRAP = join(
  dirname(createRequire(import.meta.url).resolve('aws-cdk/package.json')),
  'lib/api/bootstrap/bootstrap-template.yaml',
);

const text = readFileSync(WORKFLOW, 'utf8');
const workflow = parse(text) as { permissions: unknown; jobs: Record<string, Job> };
const { check, ...stages } = workflow.jobs;

/** Returns the commands of a job, with the stage in place of its variable. */
function commandsOf({ env, steps }: Job): string[] {
  return steps.flatMap(({ run }) => (run === undefined ? [] : [run.replaceAll('$STAGE', env?.STAGE ?? '')]));
}

const commands = [check as Job, ...Object.values(stages)].flatMap(commandsOf);

it('docs/ci.md quotes the workflow', () => {
  const [block] = readDocument('docs/ci.md').blocks.filter(({ language }) => language === 'yaml');

  expect(block?.code).toBe(text);
});

it('the workflow gives a pull request no credentials, and runs its tests and a synthesis of each stage', () => {
  expect(workflow.permissions).toEqual({ contents: 'read' });
  expect(check).toMatchObject({ steps: expect.anything() });
  expect(check).not.toHaveProperty('permissions');
  expect(check).not.toHaveProperty('environment');
  expect(check?.steps.filter(({ uses }) => uses?.startsWith('aws-actions/'))).toEqual([]);
  expect(commandsOf(check as Job)).toEqual([
    'npm ci',
    'npm test',
    ...Object.keys(stages).map((stage) => `npx cdk synth --quiet -c stage=${stage}`),
  ]);
});

it('the workflow deploys one stage after the other, each in its environment with a role and no key', () => {
  expect(Object.values(stages).map(({ needs }) => needs)).toEqual(['check', ...Object.keys(stages).slice(0, -1)]);
  for (const [stage, job] of Object.entries(stages)) {
    expect(job).toMatchObject({
      if: "github.event_name == 'push'",
      environment: stage,
      env: { STAGE: stage },
      permissions: { 'id-token': 'write' },
      concurrency: { group: `deploy-${stage}`, 'cancel-in-progress': false },
    });
    const credentials = job.steps.find(({ uses }) => uses?.startsWith('aws-actions/'));
    expect(Object.keys(credentials?.with ?? {})).toEqual(['role-to-assume', 'aws-region']);
    expect(commandsOf(job).slice(-3)).toEqual([
      `npx cdk diff -c stage=${stage}`,
      `npx cdk deploy -c stage=${stage} --require-approval never`,
      `npx millrace doctor --stage ${stage}`,
    ]);
    expect(job.steps.at(-1)).toHaveProperty('run');
  }
  expect(text).not.toMatch(/secrets\.|access-key/);
});

it('the workflow uses only scripts, commands, options and settings that exist', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

  for (const command of commands) {
    const [program, name = '', ...words] = command.replace(/^npx /, '').split(' ');
    if (program === 'npm') expect(['ci', ...Object.keys(scripts)]).toContain(name);
    else if (program === 'cdk') {
      const setting = words[words.indexOf('-c') + 1] ?? '';
      expect(readSettings({ ...Object.fromEntries([setting.split('=')]), database: 'create' })).toHaveProperty('stage');
    } else {
      expect(program).toBe('millrace');
      const found = openProgram().commands.find((one) => one.name() === name) as Command;
      const options = words.filter((word) => word.startsWith('--'));
      expect(found?.options.map(({ long }) => long)).toEqual(expect.arrayContaining(options));
      expect(options).not.toEqual([]);
    }
  }
  expect(commands.length).toBeGreaterThan(8);
});

/** Returns the resources of the role of the stage `prod`, as CloudFormation accepts them. */
function roleResources(parameters: Readonly<Record<string, string>> = {}) {
  const stack = new Stack();
  new CfnInclude(stack, 'Included', {
    templateFile: ROLE,
    parameters: { Stage: 'prod', Repository: 'acme@1/shop@2', ...parameters },
  });
  return Template.fromStack(stack).toJSON().Resources;
}

interface Statement {
  readonly Action: string | string[];
  readonly Resource: unknown;
}

function statements(): Statement[] {
  return roleResources().Role.Properties.Policies[0].PolicyDocument.Statement;
}

it('the role trusts only jobs of the repository in the environment of the stage', () => {
  const { Role, GitHub } = roleResources();

  expect(Role.Properties.AssumeRolePolicyDocument.Statement).toEqual([
    {
      Effect: 'Allow',
      Action: 'sts:AssumeRoleWithWebIdentity',
      Principal: { Federated: { 'Fn::If': ['CreatesProvider', { Ref: 'GitHub' }, expect.anything()] } },
      Condition: {
        StringEquals: {
          'token.actions.githubusercontent.com:aud': 'sts.amazonaws.com',
          'token.actions.githubusercontent.com:sub': { 'Fn::Sub': 'repo:acme@1/shop@2:environment:prod' },
        },
      },
    },
  ]);
  expect(GitHub.Properties).toEqual({
    Url: 'https://token.actions.githubusercontent.com',
    ClientIdList: ['sts.amazonaws.com'],
  });
});

it('the role can assume roles that cdk bootstrap creates, by default with its qualifier', () => {
  const bootstrap = readFileSync(BOOTSTRAP, 'utf8');
  const made = [...bootstrap.matchAll(/Fn::Sub: (cdk-\S+-role-\S+)$/gm)].map(([, name]) => name);
  const assumed = JSON.stringify(statements().find(({ Action }) => Action === 'sts:AssumeRole')?.Resource);

  const names = [...assumed.matchAll(/role\/([^"]+)"/g)].map(([, name]) => name);

  expect(made).toEqual(expect.arrayContaining(names));
  expect(names).toHaveLength(3);
  expect(readFileSync(ROLE, 'utf8')).toContain(`Default: ${parse(bootstrap).Parameters.Qualifier.Default}`);
});

it('the role has the permissions of doctor, for resources of its stage', () => {
  const source = readFileSync(join(ROOT, 'core/aws/deployed.ts'), 'utf8');
  const imports = [...source.matchAll(/import \{([^}]+)\} from '@aws-sdk\/client-(\w+)'/g)];
  const called = imports.flatMap(([, names = '', service]) =>
    [...names.matchAll(/(\w+)Command/g)].map(([, name]) => `${service}:${name}`),
  );

  const [, read, list] = statements();

  expect([read, list].flatMap((statement) => statement?.Action).toSorted()).toEqual(called.toSorted());
  const places = JSON.stringify(read?.Resource).match(/[^:]+(?="\})/g);
  expect(places).toEqual(['millrace-prod-*', 'millrace-prod-*', 'schedule/millrace-prod/*']);
});
