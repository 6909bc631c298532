import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { expect, it } from 'vitest';
import { apiBundle, bundleFunction, stepBundle } from '../../../infra/bundle/bundle-function.ts';
import { installNative } from '../../../infra/bundle/native-modules.ts';
import { handlerAlias, handlerEntry } from '../../../infra/bundle/options.ts';
import type { HandlerPlan } from '../../../infra/plan/handler-plan.ts';

const ROOT = new URL('../../..', import.meta.url).pathname;
const PLAIN = join(mkdtempSync(join(tmpdir(), 'millrace-plain-')), 'send-invoice.ts');
writeFileSync(
  PLAIN,
  `import { defineHandler } from ${JSON.stringify(join(ROOT, 'core/handler/handler.ts'))};
  const payload = { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } };
  export default defineHandler({ jobType: 'send_invoice', payload, run: async () => undefined });`,
);

function bundle(entry = handlerEntry, alias: Record<string, string> = { [handlerAlias]: PLAIN }): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'millrace-bundle-')), 'function');
  bundleFunction(folder, Architecture.ARM_64, { entry, alias });
  return folder;
}

it('keeps the bundle of a handler without libraries below 700 kB and 800 modules', () => {
  const folder = bundle();

  const bytes = statSync(join(folder, 'index.mjs')).size;
  const { sources } = JSON.parse(readFileSync(join(folder, 'index.mjs.map'), 'utf8'));

  expect(bytes).toBeLessThan(700_000);
  expect(sources.length).toBeLessThanOrEqual(800);
});

it('gives the same bytes in any folder', () => {
  const [one, other] = [bundle(), bundle()];

  expect(readdirSync(one).sort()).toEqual(['index.mjs', 'index.mjs.map']);
  for (const name of readdirSync(one)) {
    expect(readFileSync(join(one, name), 'utf8')).toBe(readFileSync(join(other, name), 'utf8'));
  }
});

it('names sources by their paths in the repository, without a folder of the build machine', () => {
  const map = JSON.parse(readFileSync(join(bundle('functions/dispatcher', {}), 'index.mjs.map'), 'utf8'));

  expect(map.sources).toContain('core/dispatch/dispatch.ts');
  expect(map.sources.filter((source: string) => source.startsWith('/') || source.startsWith('..'))).toEqual([]);
  expect(map.sourcesContent).toBeUndefined();
});

it('names file and line of a source that does not compile', () => {
  const broken = join(mkdtempSync(join(tmpdir(), 'millrace-broken-')), 'broken.ts');
  writeFileSync(broken, 'export default missing(;');

  expect(() => bundle(handlerEntry, { [handlerAlias]: broken })).toThrow(/broken\.ts:1: Unexpected ";"/);
});

/** Bundles the API with one handler that imports a native package which the project lacks. */
function bundleApi(atStart: string, inRun: string, installs?: boolean): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-catalog-'));
  const file = join(folder, 'shrink-photo.ts');
  writeFileSync(
    file,
    `${atStart}
    import { defineHandler } from ${JSON.stringify(join(ROOT, 'core/handler/handler.ts'))};
    const payload = { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } };
    export default defineHandler({ jobType: 'shrink_photo', payload, run: async () => { ${inRun} } });`,
  );
  const plan = { name: 'shrink_photo', file, nativeModules: ['no-such-module'] } as unknown as HandlerPlan;
  bundleFunction(join(folder, 'api'), Architecture.ARM_64, apiBundle([plan]), installs);
  return join(folder, 'api');
}

it('installs no native package in a function that never runs the handler which imports it', () => {
  const folder = bundleApi('', "return import('no-such-module');");

  expect(readdirSync(folder)).not.toContain('node_modules');
});

it.each([
  "import sharp from 'no-such-module';",
  "import sharp from 'no-such-module/part';",
  "import sharp = require('no-such-module');",
])('installs a native package for every function that loads the handler file with %s', (statement) => {
  expect(() => bundleApi(statement, 'return sharp;')).toThrow('run npm install no-such-module');
});

it('installs nothing for a command without assets', () => {
  const folder = bundleApi("import sharp from 'no-such-module';", 'return sharp;', false);

  expect(readdirSync(folder)).not.toContain('node_modules');
});

/** Returns the text of a file of a bundle, with what it imports at its start. */
function loadedAtStart(folder: string, name: string): string {
  const text = readFileSync(join(folder, name), 'utf8');
  const imports = [...text.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)].map(([, file = '']) => file);
  return [text, ...imports.map((file) => loadedAtStart(folder, file))].join('');
}

it('starts the API without the code of a handler, which is a file beside it', () => {
  const folder = bundleApi("const loud = 'a text of the handler';", 'return loud;');

  const own = readdirSync(folder).find((name) => /^shrink-photo-\w+\.mjs$/.test(name)) ?? 'no file';

  expect(readFileSync(join(folder, own), 'utf8')).toContain('a text of the handler');
  expect(loadedAtStart(folder, 'index.mjs')).toContain(`import("./${own}")`);
  expect(loadedAtStart(folder, 'index.mjs')).not.toContain('a text of the handler');
});

it('gives the same files of the API in any folder', () => {
  const made = () => {
    const folder = join(mkdtempSync(join(tmpdir(), 'millrace-api-')), 'api');
    const plan = { name: 'send_invoice', file: PLAIN, nativeModules: [] } as unknown as HandlerPlan;
    bundleFunction(folder, Architecture.ARM_64, apiBundle([plan]));
    return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  };

  expect(made()).toEqual(made());
});

it.each(['functions/migrate', 'functions/registry'])('%s has the definitions as data, and no handler file', (entry) => {
  const folder = join(mkdtempSync(join(tmpdir(), 'millrace-step-')), 'step');
  const definition = { jobType: 'send_invoice', settings: JSON.parse('{"__proto__": "required"}') };
  const plan = { file: '/no/such/handler.ts', definition, nativeModules: ['sharp'] } as unknown as HandlerPlan;

  bundleFunction(folder, Architecture.ARM_64, stepBundle(entry, [plan]));

  expect(readdirSync(folder).sort()).toEqual(['index.mjs', 'index.mjs.map']);
  expect(readFileSync(join(folder, 'index.mjs'), 'utf8')).toContain(JSON.stringify([definition]));
});

// The installation itself requires the network: test/rehearsal covers it.
it('names the native package to install when the project lacks it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-native-'));
  const install = () => installNative(folder, process.cwd(), ['oxc-parser', 'no-such-module'], Architecture.ARM_64);

  expect(install).toThrow(
    'nativeModules: expected installed packages; run npm install no-such-module, got "no-such-module"',
  );
});
