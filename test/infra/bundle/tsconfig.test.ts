import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { describe, expect, it } from 'vitest';
import { bundleFunction } from '../../../infra/bundle/bundle-function.ts';
import { buildBundle } from '../../../local/functions/build-bundle.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const HANDLER = 'project/functions/handlers/x.ts';
const PATHS = '{"compilerOptions":{"paths":{"greeting":["./own.ts"]}}}';

/** Creates a project with a handler that imports the package `greeting`, and other files. */
async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder();
  const all = {
    'project/package.json': '{"type":"module"}',
    'project/node_modules/greeting/package.json': '{"name":"greeting","main":"index.js","type":"module"}',
    'project/node_modules/greeting/index.js': 'export const word = "of the package";',
    'own.ts': 'export const word = "of another file";',
    [HANDLER]: "import { word } from 'greeting';\nexport const handler = () => word;\nexport default handler;\n",
    ...files,
  };
  for (const [path, text] of Object.entries(all)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

/** Both ways to bundle: for a deployment and for one machine. */
const BUNDLERS = {
  deployment: async (folder: string) => {
    const bundle = { entry: 'functions/handler', alias: { '#handler': join(folder, HANDLER) } };
    bundleFunction(join(folder, 'out'), Architecture.ARM_64, bundle, false);
    return readFile(join(folder, 'out/index.mjs'), 'utf8');
  },
  machine: async (folder: string) => {
    const outFile = join(folder, 'out.mjs');
    await buildBundle({ entry: join(folder, HANDLER), outFile });
    return readFile(outFile, 'utf8');
  },
};

describe.each(['deployment', 'machine'] as const)('a bundle for a %s', (name) => {
  it.each([
    ['above the project', { 'tsconfig.json': PATHS }],
    ['above a repository without a package.json', { 'tsconfig.json': PATHS, 'project/functions/.git/HEAD': '' }],
    ['that is broken, above the project', { 'tsconfig.json': '{' }],
  ])('ignores a tsconfig.json %s', async (_where, files) => {
    const folder = await folderWith(files);

    expect(await BUNDLERS[name](folder)).toContain('of the package');
  });

  it.each(['project', 'project/functions'])('uses the tsconfig.json of %s', async (where) => {
    const folder = await folderWith({
      [`${where}/tsconfig.json`]: PATHS,
      [`${where}/own.ts`]: 'export const word = "own";',
    });

    expect(await BUNDLERS[name](folder)).toMatch(/"own"/);
  });
});

it('without the root of a project, no tsconfig.json counts', async () => {
  const folder = await temporaryFolder();
  const entry = join(folder, 'x.ts');
  await writeFile(join(folder, 'tsconfig.json'), '{');
  await writeFile(entry, 'export const handler = () => 1;');

  await expect(buildBundle({ entry, outFile: join(folder, 'out.mjs') })).resolves.toMatchObject({ sources: [entry] });
});
