import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { afterAll, describe, expect, it, vi } from 'vitest';
import makeThumbnail from '../../functions/handlers/make-thumbnail.ts';
import { installNative } from '../../infra/bundle/native-modules.ts';
import { contentsOf, makeClone } from './clone.ts';

interface Assets {
  readonly files: Readonly<
    Record<string, { readonly displayName: string; readonly source: { readonly path: string } }>
  >;
}

interface LambdaFunction {
  readonly Code: { readonly S3Key: string };
  readonly Handler: string;
  readonly Environment?: { readonly Variables: Readonly<Record<string, unknown>> };
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string }>>;
}

interface Template {
  readonly Resources: Readonly<Record<string, { readonly Type: string; readonly Properties: LambdaFunction }>>;
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-synth-'));
afterAll(() => rm(folder, { recursive: true, force: true }));
const cache = join(folder, 'npm-cache');
await fillCache(join(folder, 'filled'));
const one = await makeClone(join(folder, 'one'), cache);
const other = await makeClone(join(folder, 'another', 'and-deeper'), cache);
// Outside the clones, so that no package.json determines the module type of the assets.
const out = join(folder, 'cdk.out');
const printed = await one.run('cdk', 'synth', '--quiet', '--output', out);
const STACK = 'millrace-dev';

describe('CDK-03: cdk synth without network, Docker and credentials', () => {
  it('runs without network', async () => {
    const { stdout } = await one.run('cat', '/proc/net/dev');

    const devices = stdout.split('\n').filter((line) => line.includes(':'));

    expect(devices.map((line) => line.split(':')[0]?.trim())).toEqual(['lo']);
  });

  it('prints only that functions reach no host without IPv6', () => {
    const text = `${printed.stdout}${printed.stderr}`.trim();

    const [, ...lines] = text.split('\n');

    expect(lines).toEqual([
      expect.stringMatching(/^INFO egress: functions reach only hosts that have an IPv6 address; /),
      expect.stringContaining(STACK),
      expect.stringContaining('Annotation::millrace:egress'),
    ]);
  });

  it('produces the same assets and template in another folder', async () => {
    await other.run('cdk', 'synth', '--quiet', '--output', `${out}-other`);

    const [ours, theirs] = await Promise.all([out, `${out}-other`].map(assembled));

    expect(Object.keys(ours ?? {})).toEqual(Object.keys(theirs ?? {}));
    expect(
      Object.entries(ours ?? {})
        .filter(([path, text]) => theirs?.[path] !== text)
        .map(([path]) => path),
    ).toEqual([]);
    expect(Object.keys(ours ?? {}).length).toBeGreaterThan(10);
  });

  it('writes no path on this machine into an asset', async () => {
    const texts = Object.entries(await assembled(out)).map(([path, text]) => [path, decode(text)] as const);
    const sources = texts
      .filter(([path]) => path.endsWith('.map'))
      .flatMap(([, text]) => (JSON.parse(text) as { sources: string[] }).sources);

    expect(texts.filter(([, text]) => text.includes(folder)).map(([path]) => path)).toEqual([]);
    expect(sources.length).toBeGreaterThan(100);
    expect(sources.filter((source) => /^(\/|\.\.)/.test(source))).toEqual([]);
  });

  it('copies every migration beside the function that runs them', async () => {
    const asset = await assetOf('Millrace/Migrate/Function');

    const migrations = await readdir(join(asset, 'migrations'));

    expect(migrations.sort()).toEqual((await readdir(join(one.folder, 'migrations'))).sort());
    expect(migrations).toContain('0001_foundation.sql');
  });

  it('installs native packages, with their locked versions, only in the function that runs them', async () => {
    const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as Lock;
    const asset = /^(asset\.[^/]+)\/(?:(.+)\/)?package\.json$/;

    const manifests = Object.entries(await assembled(out)).flatMap(([path, text]) => {
      const [, of = '', name] = asset.exec(path) ?? [];
      const { version } = JSON.parse(name === undefined ? '{}' : decode(text)) as { version?: string };
      return name === undefined || !(name in packages) ? [] : [{ of, name, version }];
    });

    const locked = manifests.map((manifest) => ({ ...manifest, version: packages[manifest.name]?.version }));
    expect(manifests).toEqual(locked);
    expect(manifests.map(({ name }) => name)).toContain('node_modules/@img/sharp-linux-arm64');
    expect(new Set(manifests.map(({ of }) => of)).size).toBe(1);
  });

  it('produces functions that load and export their handler', async () => {
    const { Resources } = await readJson<Template>(`${STACK}.template.json`);
    const all = Object.values(Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function');
    // That of CDK imports an SDK that is part of the runtime of Lambda.
    const functions = all.filter(({ Properties }) => Properties.Handler !== 'framework.onEvent');

    const exported = functions.map(({ Properties }) => [Properties.Handler, load(Properties)]);

    expect(exported.length).toBeGreaterThanOrEqual(7);
    expect(all.length - exported.length).toBe(2);
    expect(exported.filter(([, type]) => type !== 'function')).toEqual([]);
  });
});

/** Installs the native packages of the handlers over the network, so that npm's cache contains them. */
async function fillCache(installed: string): Promise<void> {
  await mkdir(installed);
  vi.stubEnv('npm_config_cache', cache);
  installNative(installed, process.cwd(), makeThumbnail.nativeModules ?? [], Architecture.ARM_64);
  vi.unstubAllEnvs();
}

async function readJson<Content>(file: string): Promise<Content> {
  return JSON.parse(await readFile(join(out, file), 'utf8')) as Content;
}

async function assetOf(construct: string): Promise<string> {
  const { files } = await readJson<Assets>(`${STACK}.assets.json`);
  const found = Object.values(files).find(({ displayName }) => displayName.startsWith(construct));
  return join(out, found?.source.path ?? `no asset of ${construct}`);
}

/** Returns what a deployment uses of a synth: the template, the list of its assets, and the assets. */
async function assembled(assembly: string): Promise<Record<string, string>> {
  const all = Object.entries(await contentsOf(assembly));
  return Object.fromEntries(all.filter(([path]) => /^asset\.|\.(template|assets)\.json$/.test(path)));
}

function decode(base64: string): string {
  return Buffer.from(base64, 'base64').toString();
}

/** Loads a function's file in a process with its environment, and returns the type of its export. */
function load({ Code, Handler, Environment }: LambdaFunction): string {
  const asset = join(out, `asset.${Code.S3Key.replace('.zip', '')}`);
  // Functions of CDK use the SDK that Lambda provides; ours contain all their dependencies.
  const [module, name] = Handler.split('.');
  const isCdk = existsSync(join(asset, `${module}.js`));
  const file = join(asset, `${module}.${isCdk ? 'js' : 'mjs'}`);
  const script = `const exported = await import(${JSON.stringify(file)});
    console.log(typeof exported.${name});
    process.exit(0);`;
  const variables = Object.entries(Environment?.Variables ?? {}).map(([name, value]) => {
    return [name, typeof value === 'string' ? value.replace('/var/task', asset) : 'http://127.0.0.1:9/known-later'];
  });
  const env = {
    ...{ PATH: process.env.PATH, AWS_REGION: 'eu-central-1', ...Object.fromEntries(variables) },
    ...(isCdk && { NODE_PATH: resolve('node_modules') }),
  };
  return execFileSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' }).trim();
}
