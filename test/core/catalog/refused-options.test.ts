import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import type { Catalog } from '../../../core/catalog/catalog.ts';

const root = new URL('../../../', import.meta.url);
const HEAD = `import { defineHandler } from '${new URL('core/handler/handler.ts', root)}';
import { retry } from '${new URL('core/handler/retry-policy.ts', root)}';
const payload = { '~standard': { version: 1, vendor: 'none', validate: (value: unknown) => ({ value }) } };
const run = async () => undefined;
`;

/** The message of the failure by the options of the handler and the name of its file. */
const CASES: readonly (readonly [file: string, options: string, message: string])[] = [
  ['fixed.ts', `jobType: 'fixed', retry: retry.fixed('soon')`, 'fixed: retry.fixed(delay): expected a duration'],
  ['many.ts', `jobType: 'many', retry: retry.schedule([])`, 'many: retry.schedule(delays): expected a list of'],
  ['steps.ts', `jobType: 'steps', retry: retry.linear({ base: '1s' })`, 'steps: retry.linear(step): expected'],
  [
    'grow-fast.vector.ts',
    `jobType: 'grow_fast', routingKey: 'vector', retry: retry.exponential({ base: '1s', factor: 0 })`,
    'grow_fast.vector: retry.exponential(factor): expected a number of at least 1, got 0',
  ],
  ['spread.ts', `jobType: 'spread', retry: retry.fixed(1, { jitter: 2 })`, 'spread: retry jitter: expected a number'],
  ['word.ts', `jobType: 'word', retry: retry.fixed(1, { on: [] } as never)`, 'word: retry.fixed: unknown option on'],
  ['none.ts', `jobType: 3 as never`, 'none: jobType: expected'],
  ['named.ts', `jobType: 'named', timeout: '20m'`, 'named: timeout: expected'],
  ['other-file.ts', `jobType: 'named_so', timeout: '20m'`, 'named_so: timeout: expected'],
];
let failures: Catalog['failures'];

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-catalog-'));
  for (const [file, options] of CASES) {
    await writeFile(join(folder, file), `${HEAD}export default defineHandler({ payload, run, ${options} });\n`);
  }
  const script = `import { loadCatalog } from '${new URL('core/catalog/catalog.ts', root)}';
    import { openProbe } from '${new URL('core/catalog/probe.ts', root)}';
    console.log(JSON.stringify(await loadCatalog('${folder}', openProbe())));`;
  // On Node itself, because a test runner loads modules itself.
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  failures = (JSON.parse(stdout) as Catalog).failures;
  await rm(folder, { recursive: true });
});

it.each(CASES)('the error of %s names the handler: %s', (file, _options, message) => {
  const found = failures.find((failure) => failure.file.endsWith(`/${file}`));

  expect(found).toMatchObject({ line: 5, message: expect.stringContaining(message) });
  expect(found?.message.startsWith(`SettingError: ${message}`)).toBe(true);
});
