import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { expect, it, vi } from 'vitest';
import { SettingError } from '../../../core/errors.ts';
import { buildAndRest } from '../../../infra/bundle/build-and-rest.ts';
import { buildHandlers } from '../../../infra/bundle/build-handlers.ts';
import { bundleFunction } from '../../../infra/bundle/bundle-function.ts';
import { bundleHandlers } from '../../../infra/bundle/bundle-handlers.ts';
import { handlerAlias, handlerEntry } from '../../../infra/bundle/options.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

vi.mock('../../../infra/bundle/build-and-rest.ts', { spy: true });

/** Writes a project with these handler files, and returns them with the folders of their bundles. */
async function projectOf(sources: readonly string[]) {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'jobs'));
  await mkdir(join(folder, 'node_modules/fast'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'node_modules/fast/package.json'), '{"name":"fast","main":"index.js","gypfile":true}');
  await writeFile(join(folder, 'node_modules/fast/index.js'), 'exports.fast = 1;');
  const handlers = sources.map((source, n) => {
    const file = join(folder, 'jobs', `job-${n}.ts`);
    return { source, file, folder: join(folder, 'out', `${n}`), nativeModules: [] };
  });
  for (const { file, source } of handlers) await writeFile(file, source);
  return handlers;
}

const plain = (text: string) => `export default { jobType: 'x', timeoutSeconds: 30, run: () => '${text}' };`;

it('bundles 13 handlers in two builds, each with its own code only and with the bytes that it has alone', async () => {
  const handlers = await projectOf(Array.from({ length: 13 }, (_, n) => plain(`a text of handler ${n};`)));

  await buildHandlers(handlers);

  expect(vi.mocked(buildAndRest)).toHaveBeenCalledTimes(2);
  const texts = await Promise.all(handlers.map(({ folder }) => readFile(join(folder, 'index.mjs'), 'utf8')));
  expect(texts.map((text) => text.match(/a text of handler \d+;/g))).toEqual(
    handlers.map((_, n) => [`a text of handler ${n};`]),
  );
  for (const { file, folder } of [handlers[1], handlers[12]].filter((one) => one !== undefined)) {
    const alone = `${folder}-alone`;
    bundleFunction(alone, Architecture.ARM_64, { entry: handlerEntry, alias: { [handlerAlias]: file } });
    for (const name of ['index.mjs', 'index.mjs.map']) {
      expect(await readFile(join(folder, name), 'utf8')).toBe(await readFile(join(alone, name), 'utf8'));
    }
  }
});

it('names the file and line of the handler that does not compile, beside one that does', async () => {
  const handlers = await projectOf([plain('fine'), 'export default missing(;']);

  const bundle = () => bundleHandlers(handlers);

  expect(bundle).toThrow(/jobs\/job-1\.ts:1: Unexpected ";"$/);
});

it('names only the handler that imports native code', async () => {
  const native = `import { fast } from 'fast'; ${plain('native')} console.log(fast);`;
  const handlers = await projectOf([plain('fine'), native]);

  const bundle = () => bundleHandlers(handlers);

  expect(bundle).toThrow(SettingError);
  expect(bundle).toThrow(/^jobs\/job-1\.ts: nativeModules: fast contains native code/);
});
