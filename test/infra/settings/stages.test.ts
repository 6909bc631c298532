import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { type Context, readFileContext } from '../../../core/settings/stage-list.ts';
import { readSettings } from '../../../infra/settings/settings.ts';
import { doctorCommand } from '../../../infra/settings/stages.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { EXISTING } from '../synthesise.ts';

const FILES: Context = {
  stage: 'dev',
  dispatch: 'tick',
  handlers: 'work',
  stages: { dev: { database: 'create' }, prod: { ...EXISTING, dispatch: 'loop', settings: { SMTP_FROM: 'a@b.de' } } },
};
const settings = (commandLine: Context = {}, files = FILES) =>
  readSettings({ ...files, ...commandLine }, 'jobs', files);

it('a stage has the settings of its entry, before those of all stages', () => {
  expect(settings()).toMatchObject({ stage: 'dev', dispatch: 'tick', database: { kind: 'create' } });
  const prod = settings({ stage: 'prod' });

  expect(prod).toMatchObject({ stage: 'prod', dispatch: 'loop', settings: { SMTP_FROM: 'a@b.de' } });
  expect(prod.database).toMatchObject({ kind: 'existing', ownerSecret: EXISTING.databaseOwnerSecret });
  expect(prod.handlersFolder).toMatch(/\/work$/);
});

it('the command line is before both', () => {
  const prod = settings({ stage: 'prod', dispatch: 'auto', handlers: 'shop', settings: '{"SMTP_FROM": "c@d.de"}' });

  expect(prod).toMatchObject({ dispatch: 'auto', settings: { SMTP_FROM: 'c@d.de' } });
  expect(prod.handlersFolder).toMatch(/\/shop$/);
});

it.each<[string, Context, Context, string]>([
  [
    'a stage that is not listed',
    { stage: 'staging' },
    FILES,
    'stage: expected one of the stages in cdk.json (dev, prod), got "staging"',
  ],
  ['no stage', { stage: undefined }, FILES, 'stage: expected one of the stages in cdk.json (dev, prod), got nothing'],
  ['the name of a property', { stage: 'constructor' }, FILES, 'stage: expected one of the stages in cdk.json'],
  ['a listed stage with a wrong name', { stage: 'Prod' }, { stages: { Prod: {} } }, 'stage: expected at most 12'],
  [
    'an unknown setting of any stage',
    {},
    { stage: 'dev', stages: { dev: {}, prod: { databse: 'existing' } } },
    'stages.prod.databse: expected one of handlers, ',
  ],
  ['a stage in a stage', {}, { stage: 'dev', stages: { dev: { stage: 'x' } } }, 'stages.dev.stage: expected one of'],
  [
    'a wrong value in the entry',
    {},
    { stage: 'dev', stages: { dev: { dispatch: 'never' } } },
    'stages.dev.dispatch: expected one of auto, loop, tick, got "never"',
  ],
  [
    'a wrong value in a setting that is an object',
    {},
    { stage: 'dev', stages: { dev: { settings: { 'a-b': 'x' } } } },
    'stages.dev.settings.a-b: expected a name of at least two',
  ],
  [
    'a wrong value on the command line',
    { dispatch: 'often' },
    { stage: 'dev', stages: { dev: { dispatch: 'loop' } } },
    'dispatch: expected one of auto, loop, tick, got "often"',
  ],
  [
    'a take-over in the entry',
    {},
    { stage: 'dev', stages: { dev: { takeOver: 'prod' } } },
    'stages.dev.takeOver: expected no value: pass it as -c takeOver=…, once, got "prod"',
  ],
  [
    'a move in the entry',
    {},
    { stage: 'dev', stages: { dev: { moveDatabase: 'db.example.com/shop' } } },
    'stages.dev.moveDatabase: expected no value: pass it as -c moveDatabase=…, once, got "db.example.com/shop"',
  ],
  ['an entry that is text', {}, { stage: 'dev', stages: { dev: 'create' } }, 'stages.dev: expected an object with the'],
  ['a list of names', {}, { stage: 'dev', stages: ['dev'] }, 'stages: expected an object such as {"dev": '],
  ['a list that is not JSON', { stages: '{' }, { stage: 'dev' }, 'stages: expected an object such as {"dev": '],
])('%s is refused by its name', (_case, commandLine, files, sentence) => {
  expect(() => settings(commandLine, files)).toThrow(
    expect.objectContaining({ name: 'SettingError', message: expect.stringMatching(RegExp(`^${literal(sentence)}`)) }),
  );
});

function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

it('reads the context of the files as CDK merges it', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'cdk.json'), '\uFEFF{"app": "node cdk.mjs", "context": {"stage": "dev", "api": "iam"}}');
  await writeFile(join(folder, 'cdk.context.json'), '{"api": "off", "looked:up": 1}');

  expect(readFileContext(folder)).toMatchObject({ stage: 'dev', api: 'iam', 'looked:up': 1 });
});

it('names a file that is not JSON', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'cdk.json'), '{');

  expect(() => readFileContext(folder)).toThrow(`${join(folder, 'cdk.json')} is not valid JSON: correct it`);
});

it.each([
  ['the folder of the list', 'prod', 'shop/jobs', ''],
  ['another folder', 'prod', 'other', ' --handlers other'],
  ['the usual folder', 'dev', 'jobs', ''],
  ['a stage of the command line only', 'staging', 'shop/jobs', ' --handlers shop/jobs'],
])('prints a command of doctor that finds %s', (_case, stage, folder, option) => {
  const files = { stages: { prod: { handlers: 'shop/jobs' }, dev: {} } };

  const command = doctorCommand({ stage, handlersFolder: resolve(folder) }, files, 'jobs');

  expect(command).toBe(`npx millrace doctor --stage ${stage}${option}`);
});
