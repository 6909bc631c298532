import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { refuseMachineCode } from '../../../infra/bundle/machine-code.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function projectOf(files: Readonly<Record<string, object | string>>): Promise<string> {
  const folder = await temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, 'node_modules', name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
}

it.each<[string, string, Record<string, object | string>]>([
  ['a .node file', 'fast', { 'fast/package.json': {}, 'fast/build/Release/fast.node': '' }],
  ['a native build in its manifest', 'fast', { 'fast/package.json': { gypfile: true } }],
  ['a file binding.gyp', '@own/fast', { '@own/fast/package.json': {}, '@own/fast/binding.gyp': '' }],
  [
    'an optional package for this platform',
    'fast',
    {
      'fast/package.json': { optionalDependencies: { '@fast/linux': '1.0.0', '@fast/other': '1.0.0' } },
      '@fast/linux/lib/fast.node': '',
    },
  ],
])('refuses a package with %s', async (_what, name, files) => {
  const folder = await projectOf(files);

  const sentence = `nativeModules: ${name} contains native code: add nativeModules: ['${name}'] to the handler`;
  expect(() => refuseMachineCode([`node_modules/${name}/index.js`, 'jobs/a.ts'], folder)).toThrow(sentence);
  expect(() => refuseMachineCode([join(folder, `node_modules/${name}/index.js`)], '/elsewhere')).toThrow(sentence);
});

it('accepts packages without native code, whatever their own packages contain', async () => {
  const folder = await projectOf({
    'plain/package.json': { optionalDependencies: { absent: '1.0.0' } },
    'plain/node_modules/fast/fast.node': '',
  });

  expect(() => refuseMachineCode(['node_modules/plain/index.js', 'jobs/a.ts'], folder)).not.toThrow();
});
