import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyDocument } from 'aws-cdk-lib/aws-iam';
import { expect, it } from 'vitest';
import { queueName } from '../../core/handler/naming.ts';
import type { Context } from '../../core/settings/stage-list.ts';
import { alarmsOf } from '../../infra/plan/alarms.ts';
import { readSettings } from '../../infra/settings/settings.ts';
import { usualOf } from '../../infra/settings/stage-settings.ts';
import { inlineCode, ROOT, readDocument, section, tableBelow } from './documents.ts';

const page = readDocument('docs/deploy.md');

/** Returns the settings that the error for an unknown setting lists. */
function known(): string[] {
  try {
    readSettings({ stage: 'dev', nonsense: '1' });
  } catch (error) {
    return /expected one of ([^"]+), got/.exec(String(error))?.[1]?.split(', ') ?? [];
  }
  return [];
}

it('docs/deploy.md lists every setting of the deployment, and no other', () => {
  const rows = tableBelow(page, 'Settings');

  const listed = rows.flatMap(([names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name));

  expect(listed.toSorted()).toEqual(known().toSorted());
  expect(listed.length).toBeGreaterThan(20);
});

it('docs/adopt.md lists only properties that the construct has', () => {
  const source = readFileSync(join(ROOT, 'infra/millrace.ts'), 'utf8');
  const [, defaults = ''] = /const DEFAULTS = \{\n(.*?)\n\} as const/s.exec(source) ?? [];
  const usual = ['handlers', 'protect', ...Object.keys(usualOf(true))];
  const known = [...usual, ...[...defaults.matchAll(/^ {2}(\w+):/gm)].map(([, name]) => name)];

  const rows = tableBelow(readDocument('docs/adopt.md'), 'Deploy it');
  const listed = rows.flatMap(([names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name));

  expect(listed.filter((name) => !known.includes(name))).toEqual([]);
  expect(listed).toEqual(expect.arrayContaining(['handlerStacks', 'api', 'alarms', 'database', 'network']));
});

it('docs/deploy.md shows a cdk.json of which the settings of each stage are accepted', () => {
  const [shown] = page.blocks.filter(({ language }) => language === 'json');
  const { context } = JSON.parse(shown?.code ?? '{}') as { context: Context };

  const read = (stage: string, given: Context = {}) => readSettings({ ...context, stage, ...given }, 'jobs', context);

  expect(read('dev')).toMatchObject({ dispatch: 'tick', database: { kind: 'small' } });
  expect(read('prod')).toMatchObject({ dispatch: 'loop', database: { kind: 'existing' } });
  expect(read('prod', { dispatch: 'auto' })).toMatchObject({ dispatch: 'auto' });
  // The exception that the page names.
  expect(read('prod', { dispatch: 'tick' })).toMatchObject({ dispatch: 'loop' });
});

it('docs/deploy.md shows the policy of a key that CloudWatch uses for logs and alarms', () => {
  const shown = page.blocks.find(({ language, code }) => language === 'json' && code.includes('kms:*'));
  const policy = JSON.parse(shown?.code ?? '{}') as { Statement: object[] };

  const [account, logs, alarms] = policy.Statement;

  expect(PolicyDocument.fromJson(policy).validateForResourcePolicy()).toEqual([]);
  expect(policy.Statement).toHaveLength(3);
  expect(account).toMatchObject({ Principal: { AWS: 'arn:aws:iam::123456789012:root' }, Action: 'kms:*' });
  expect(logs).toMatchObject({
    Principal: { Service: 'logs.eu-central-1.amazonaws.com' },
    Action: ['kms:Encrypt', 'kms:Decrypt', 'kms:ReEncrypt*', 'kms:GenerateDataKey*', 'kms:Describe*'],
    // Every name: CloudFormation chooses those of the logs of the steps.
    Condition: {
      ArnLike: { 'kms:EncryptionContext:aws:logs:arn': 'arn:aws:logs:eu-central-1:123456789012:log-group:*' },
    },
  });
  expect(alarms).toMatchObject({
    Principal: { Service: 'cloudwatch.amazonaws.com' },
    Action: ['kms:Decrypt', 'kms:GenerateDataKey*'],
  });
});

it('docs/deploy.md uses only existing settings in commands', () => {
  const used = [...page.text.matchAll(/-c (\w+)=/g)].map(([, name]) => name as string);

  expect(used.filter((name) => !known().includes(name))).toEqual([]);
  expect(used.length).toBeGreaterThan(8);
});

it('docs/deploy.md states the price of the alarms', () => {
  const of = (stage: object) => alarmsOf({ stage: 'dev', ...stage }).flatMap(({ metrics }) => Object.keys(metrics));
  // $0.10 for each metric, and $0.50 for the composite alarm.
  const price = 0.1 * of({}).length + 0.5;
  const extra = (stage: object) => (0.1 * (of(stage).length - of({}).length)).toFixed(2);

  const [, documented] = tableBelow(page, 'Idle cost').find(([what]) => what === 'alarms') ?? [];

  expect(extra({ instanceId: 'x' })).toBe(extra({ clusterId: 'x' }));
  expect(documented).toBe(
    `${price.toFixed(2)} for any number of handlers, ${extra({ apiId: 'x' })} with the API, ` +
      `${extra({ clusterId: 'x' })} with a new database, and ${extra({ rotated: ['app'] })} for each secret that is rotated`,
  );
});

it('docs/security.md names only tests and files that exist', () => {
  const paths = inlineCode(readDocument('docs/security.md')).filter((code) =>
    /^(test|core|infra)\/\S+\.ts$/.test(code),
  );

  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  expect(paths.length).toBeGreaterThan(10);
});

it('docs/deploy.md builds an image from the bundle that a synthesis writes', () => {
  const { blocks } = section(page, 'A container image or a VPC for one handler');
  const code = (language: string) => blocks.find((block) => block.language === language)?.code ?? '';

  const name = queueName('prod', { jobType: 'render_page', routingKey: '' });

  expect(code('sh')).toContain(`\n  cdk.out/bundles/${name}\n`);
  expect(code('dockerfile')).toMatch(/^FROM public\.ecr\.aws\/lambda\/nodejs:24$/m);
  expect(code('dockerfile')).toMatch(/^CMD \["index\.handler"\]$/m);
});
