import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { apiBundle, beginBundling } from '../../../local/functions/bundling.ts';
import type { BundledHandler } from '../../../local/functions/handler-bundles.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const CORE = new URL('../../../core/index.ts', import.meta.url).pathname;

const handler = (text: string) => `import { defineHandler } from '${CORE}';
export default defineHandler({
  jobType: 'greet',
  payload: { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } },
  run: async () => '${text}',
});
`;

it('the API imports each handler from a file of its own, which stays for one more bundle', async () => {
  const project = await temporaryFolder();
  const folder = join(project, 'jobs');
  const bundles = join(project, 'bundles');
  await mkdir(folder);
  const file = join(folder, 'greet.ts');
  await writeFile(file, handler('first'));
  const { first, api } = beginBundling({ project, folder, bundles, printLine: () => undefined });
  const greet = (await (await first).handlers.files.get('greet')) as BundledHandler;
  const ofHandler = async () =>
    (await readdir(dirname(apiBundle(bundles)))).filter((name) => /^greet-\w+\.mjs$/.test(name));

  const [begun] = await ofHandler();
  await writeFile(file, handler('second'));
  await api([greet]);
  const after = await ofHandler();
  await writeFile(file, handler('third'));
  await api([greet]);
  const last = await ofHandler();

  expect(await readFile(apiBundle(bundles), 'utf8')).not.toContain('third');
  expect(after).toHaveLength(2);
  expect(after).toContain(begun);
  expect(last).toHaveLength(2);
  expect(last).not.toContain(begun);
});
