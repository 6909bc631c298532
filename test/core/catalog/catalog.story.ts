import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Catalog } from '../../../core/catalog/catalog.ts';

const root = new URL('../../../', import.meta.url);
const execute = promisify(execFile);

/** Runs a script on Node itself, because a test runner loads modules itself; returns the arguments of `say`. */
async function onNode(script: string): Promise<Catalog[]> {
  const head = `import { loadCatalog } from '${new URL('core/catalog/catalog.ts', root)}';
    import { openProbe } from '${new URL('core/catalog/probe.ts', root)}';
    const said = [];
    const say = (value) => said.push(value);
    ${script}
    console.log(JSON.stringify(said));`;
  const { stdout } = await execute(process.execPath, ['--input-type=module', '--eval', head]);
  return JSON.parse(stdout);
}

async function folderOf(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-catalog-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

function handler(options: string): string {
  return `import { defineHandler } from '${new URL('core/handler/handler.ts', root)}';

export default defineHandler({
  payload: { '~standard': { version: 1, vendor: 'none', validate: (value: unknown) => ({ value }) } },
  run: async () => undefined,
  ${options},
});
`;
}

async function catalogOf(files: Record<string, string>): Promise<Catalog> {
  const folder = await folderOf(files);
  const [catalog] = await onNode(`say(await loadCatalog('${folder}', openProbe()));`);
  return JSON.parse(JSON.stringify(catalog).replaceAll(`${folder}/`, ''));
}

it('reads to which handler the dead letters of a handler go, and refuses one that does not exist', async () => {
  const known = await catalogOf({ 'send-mail.ts': handler(`jobType: 'send_mail', onDeadLetter: 'send_mail'`) });
  const unknown = await catalogOf({ 'send-mail.ts': handler(`jobType: 'send_mail', onDeadLetter: 'sand_mail'`) });

  expect(known.handlers).toMatchObject([{ definition: { onDeadLetter: 'send_mail' } }]);
  expect(unknown.failures).toMatchObject([{ message: expect.stringMatching(/did you mean send_mail\?$/) }]);
});

it('lists the handlers of a folder by file name', async () => {
  const catalog = await catalogOf({
    'send-mail.ts': handler(`jobType: 'send_mail'`),
    'index-record.vector.ts': handler(`jobType: 'index_record', routingKey: 'vector', timeout: '2m'`),
    'README.md': 'not a handler',
    'globals.d.ts': 'declare const nothing: never;',
  });

  expect(catalog).toEqual({
    handlers: [
      {
        file: 'index-record.vector.ts',
        name: 'index_record.vector',
        definition: expect.objectContaining({ jobType: 'index_record', routingKey: 'vector', timeoutSeconds: 120 }),
      },
      { file: 'send-mail.ts', name: 'send_mail', definition: expect.objectContaining({ jobType: 'send_mail' }) },
    ],
    failures: [],
  });
});

it('finds the handlers of this project without running them', async () => {
  const [catalog] = await onNode(
    `say(await loadCatalog('${new URL('functions/handlers', root).pathname}', openProbe()));`,
  );

  expect(catalog?.handlers.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['make_thumbnail', 'send_reminder']),
  );
  expect(catalog?.failures).toEqual([]);
});

/** Invalid files of a handlers folder, and their messages. */
const BROKEN: Record<string, { text: string; line?: number; message: string }> = {
  'throws.ts': { text: `\n\nthrow new TypeError('no luck');`, line: 3, message: 'TypeError: no luck' },
  'throws-text.ts': { text: `throw 'no luck';`, message: 'threw no luck' },
  'throws-nothing.ts': { text: 'throw undefined;', message: 'threw undefined' },
  'syntax.ts': { text: `const a: number = 1;\n\nconst = a;`, line: 3, message: 'SyntaxError: Unexpected token' },
  'enum.ts': {
    text: `\nenum Kind { A }\nexport default Kind.A;`,
    line: 2,
    message: 'TypeScript enum is not supported',
  },
  'package.ts': {
    text: `\nimport 'nothing-of-the-kind';`,
    line: 2,
    message: `Cannot find package 'nothing-of-the-kind'`,
  },
  'module.ts': { text: `\nimport { a } from './gone.ts';\na();`, line: 2, message: 'Cannot find module' },
  'no-export.ts': {
    text: 'export const handler = 1;',
    message: 'has no default export; write `export default defineHandler',
  },
  'plain.ts': { text: 'export default { jobType: 1 };', message: 'its default export is not a handler' },
  'nothing.ts': { text: 'export default null;', message: 'its default export is not a handler' },
  'bounds.ts': {
    text: handler(`jobType: 'bounds', timeout: '20m'`),
    line: 3,
    message: 'SettingError: bounds: timeout: expected whole seconds from 1s to 880s, got "20m"',
  },
  'retries.ts': {
    text: handler(`jobType: 'retries', retry: 3 as never`),
    line: 3,
    message: "SettingError: retries: retry: expected a policy such as retry.fixed('1m'), got 3",
  },
  'changed.ts': {
    text: `${handler(`jobType: 'changed'`).replace('export default', 'const made =')}export default { ...made, retry: 3 };`,
    message: "changed: retry: expected a policy such as retry.fixed('1m'), got 3",
  },
  'by-hand.ts': {
    text: `export default { jobType: 'by_hand', routingKey: '', timeoutSeconds: 5, run: async () => 1 };`,
    message: 'by_hand: payload: expected a schema',
  },
  'other.ts': {
    text: handler(`jobType: 'send_letter'`),
    message: 'defines send_letter: rename the file to send-letter.ts',
  },
  'copy.ts': { text: handler(`jobType: 'send_mail'`), message: 'defines send_mail: send-mail.ts already defines it' },
};
let broken: Catalog;

beforeAll(async () => {
  const files = Object.entries(BROKEN).map(([file, { text }]) => [file, text]);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-catalog-'));
  for (const [file, text] of [...files, ['send-mail.ts', handler(`jobType: 'send_mail'`)]]) {
    await writeFile(join(folder, file!), text!);
  }
  const [catalog] = await onNode(`say(await loadCatalog('${folder}', openProbe()));`);
  broken = JSON.parse(JSON.stringify(catalog).replaceAll(`${folder}/`, ''));
  await rm(folder, { recursive: true });
});

it.each(Object.entries(BROKEN))('states what is wrong with %s', (file, { line, message }) => {
  const failure = broken.failures.find((one) => one.file === file);

  expect(failure?.message).toContain(message);
  expect(failure?.line).toBe(line);
});

it('keeps the handlers beside broken files', () => {
  expect(broken.handlers.map(({ name }) => name)).toEqual(['send_mail']);
  expect(broken.failures).toHaveLength(Object.keys(BROKEN).length);
});

it('names the imported file that threw', async () => {
  const folder = await folderOf({ 'deep.ts': `import './part.mts';`, 'part.mts': `\nthrow new Error('deep');` });

  const [catalog] = await onNode(`say(await loadCatalog('${folder}', openProbe()));`);

  expect(catalog?.failures).toEqual([
    { file: join(folder, 'deep.ts'), message: `Error: deep (at ${join(folder, 'part.mts')}:2)` },
  ]);
});

it('throws when the folder does not exist', async () => {
  const [error] = await onNode(`await loadCatalog('/nothing/here', openProbe()).catch((error) => say(error.code));`);

  expect(error).toBe('ENOENT');
});

it('ignores the hidden files that editors and file systems put beside a handler', async () => {
  const folder = await folderOf({
    'a.ts': handler(`jobType: 'a'`),
    '._a.ts': '\0\x05\x16\x07',
    '.b.ts': handler(`jobType: 'b'`),
    '.history/a.ts': handler(`jobType: 'a'`),
    'lib/.a.js': handler(`jobType: 'a'`),
  });
  await symlink('me@host.1:2', join(folder, '.#a.ts'));

  const [catalog] = await onNode(`say(await loadCatalog('${folder}', openProbe()));`);

  expect(catalog?.handlers.map(({ name }) => name)).toEqual(['a']);
  expect(catalog?.failures).toEqual([]);
});
