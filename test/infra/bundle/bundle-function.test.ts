import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { expect, it } from 'vitest';
import { bundleFunction, installNative } from '../../../infra/bundle/bundle-function.ts';
import { handlerAlias, handlerEntry } from '../../../infra/bundle/options.ts';

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

/**
 * Milliseconds of work that the import is for Node's thread. Other processes only add to it, so it is asked until it is
 * below the bar; the least of forty if it never is.
 */
function loadTime(file: string, bar: number): number {
  const script = `const begun = process.threadCpuUsage();
    await import(${JSON.stringify(file)});
    const { user, system } = process.threadCpuUsage(begun);
    console.log((user + system) / 1000);
    process.exit(0);`;
  const env = {
    ...{ PATH: process.env.PATH, MILLRACE_QUEUE_URL: 'http://127.0.0.1:9/q', AWS_REGION: 'eu-central-1' },
    ...{ DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' },
  };
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 40 && least >= bar; run++) {
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' });
    least = Math.min(least, Number(said));
  }
  return least;
}

it('of a handler without libraries of its own is below 700 kB and loads in less than 80 ms', () => {
  const file = join(bundle(), 'index.mjs');

  const bytes = statSync(file).size;
  const milliseconds = loadTime(file, 80);

  expect(bytes).toBeLessThan(700_000);
  expect(milliseconds).toBeLessThan(80);
}, 60_000);

it('comes out the same, wherever it is put', () => {
  const [one, other] = [bundle(), bundle()];

  expect(readdirSync(one).sort()).toEqual(['index.mjs', 'index.mjs.map']);
  for (const name of readdirSync(one)) {
    expect(readFileSync(join(one, name), 'utf8')).toBe(readFileSync(join(other, name), 'utf8'));
  }
});

it('names sources as the repository does, and no folder of the machine that built it', () => {
  const map = JSON.parse(readFileSync(join(bundle('functions/dispatcher.ts', {}), 'index.mjs.map'), 'utf8'));

  expect(map.sources).toContain('core/dispatch/dispatch.ts');
  expect(map.sources.filter((source: string) => source.startsWith('/') || source.startsWith('..'))).toEqual([]);
  expect(map.sourcesContent).toBeUndefined();
});

it('says where a source does not compile', () => {
  const broken = join(mkdtempSync(join(tmpdir(), 'millrace-broken-')), 'broken.ts');
  writeFileSync(broken, 'export default missing(;');

  expect(() => bundle(handlerEntry, { [handlerAlias]: broken })).toThrow(/broken\.ts:1: Unexpected ";"/);
});

// What is installed, and for which machine, needs the network: test/rehearsal has it.
it('says what to install when the project lacks the module', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-native-'));
  const install = () => installNative(folder, process.cwd(), ['oxc-parser', 'no-such-module'], Architecture.ARM_64);

  expect(install).toThrow(
    'nativeModules: expected packages that are installed here; run npm install no-such-module, got "no-such-module"',
  );
});
