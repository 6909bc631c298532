import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { writeDeclarations } from './declarations.ts';
import { licensesOf } from './licenses.ts';
import { DOORS, developmentManifest, libraryManifest, ROOT } from './manifests.ts';

/** The functions of a deployment. Each is bundled again with the handlers of a project. */
const FUNCTIONS = ['api', 'dispatcher', 'dlq-mirror', 'handler', 'migrate', 'registry'];

/**
 * The modules that run in processes of their own: two read handler files, one bundles them, and one keeps the Postgres
 * of tests.
 */
const PROCESSES = ['core/catalog/probe-process', 'infra/bundling-process', 'infra/read-handlers', 'local/testing/main'];

/**
 * Options of the bundles in the packages. Modules are at the same paths as in a clone; what several use is in `chunks`,
 * so that a handler and its function share one copy. Names are not shortened: retry policies filter by the names of
 * errors, and stored stacks name functions.
 */
const OPTIONS = {
  absWorkingDir: ROOT,
  outbase: ROOT,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  minifySyntax: true,
  minifyWhitespace: true,
  // Node prints the whole line that throws above the message of an uncaught error.
  lineLimit: 120,
  keepNames: true,
  legalComments: 'none',
  mainFields: ['module', 'main'],
  chunkNames: 'chunks/[name]-[hash]',
  // pg is CommonJS and calls `require`, which ES modules do not have.
  banner: {
    js: "import { createRequire as nodeCreateRequire } from 'node:module';const require = nodeCreateRequire(import.meta.url);",
  },
  metafile: true,
  logLevel: 'error',
} as const satisfies BuildOptions;

/** The commands for the stack on this machine: the launcher of the package `millrace` runs them in `millrace-dev`. */
const WITHOUT_STACK = {
  name: 'without the stack',
  setup: ({ onLoad }) => onLoad({ filter: /\/local\/(up|mailbox\/mails)\.ts$/ }, () => ({ contents: 'export {};' })),
} satisfies NonNullable<BuildOptions['plugins']>[number];

/** Builds the package that applications and operators install. */
async function buildLibrary(target: string): Promise<void> {
  const doors = Object.values(DOORS);
  const functions = FUNCTIONS.map((name) => `functions/${name}`);
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: [...doors, ...functions, ...PROCESSES, 'cli/main'].map((path) => `${path}.ts`),
    outdir: join(target, 'dist'),
    // The oldest release on which an application and the commands run.
    target: 'node20.19',
    external: ['pg-native', 'esbuild', 'aws-cdk-lib', 'constructs', '#handler', '#catalog', '#definitions'],
    plugins: [WITHOUT_STACK],
  });
  writeDeclarations(doors, join(target, 'types'));
  write(target, 'package.json', `${JSON.stringify(libraryManifest(), undefined, 2)}\n`);
  write(target, 'THIRD-PARTY-LICENSES.md', licensesOf(metafile));
  copy(target, ['LICENSE', 'README.md', 'migrations', 'infra/rds-ca.pem', 'cli/millrace.js']);
}

/** Builds the package with the stack of one machine, whose functions and migrations are those of the library. */
async function buildDevelopment(target: string): Promise<void> {
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: ['cli/main.ts', 'local/sqs/main.ts', 'local/mailbox/main.ts'],
    outdir: join(target, 'dist'),
    target: 'node24',
    external: ['pg-native', 'esbuild'],
  });
  write(target, 'package.json', `${JSON.stringify(developmentManifest(), undefined, 2)}\n`);
  write(target, 'README.md', 'The development dependency of [millrace](https://www.npmjs.com/package/millrace).\n');
  write(target, 'THIRD-PARTY-LICENSES.md', licensesOf(metafile));
  copy(target, ['LICENSE', 'cli/millrace.js', 'local/lambda/bootstrap.mjs', 'templates']);
}

function write(target: string, name: string, text: string): void {
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, name), text);
}

function copy(target: string, paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    cpSync(join(ROOT, path), join(target, path), { recursive: true });
  }
}

/** Builds the packages into the folders `millrace` and `millrace-dev` of `dist`, for `npm pack` and `npm publish`. */
export async function buildPackages(dist: string): Promise<void> {
  rmSync(dist, { recursive: true, force: true });
  await buildLibrary(join(dist, 'millrace'));
  await buildDevelopment(join(dist, 'millrace-dev'));
}

if (import.meta.main) await buildPackages(join(ROOT, 'dist'));
