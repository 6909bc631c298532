import type { BuildOptions } from 'esbuild';
import { tsconfigOf } from './tsconfig.ts';

/**
 * Options of every bundle, for AWS and for one machine.
 *
 * - Minification keeps the names of errors and classes: retry policies filter by them.
 * - The source map is a file beside the bundle, without sources. `bundleEnvironment` makes Node use it, so a stored
 *   stack names the original file and line.
 * - CommonJS packages call `require`, which ES modules lack: without the banner, pg fails to load with "Dynamic require
 *   of 'events' is not supported".
 */
const OPTIONS = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minify: true,
  keepNames: true,
  sourcemap: 'linked',
  sourcesContent: false,
  // esbuild removes unused code from ES modules only, so it prefers the ES module build of a package.
  mainFields: ['module', 'main'],
  external: ['pg-native'],
  // `machineCodeIn` finds these files; the bundle of a function cannot contain them.
  loader: { '.node': 'empty' },
  banner: {
    js: "import { createRequire as nodeCreateRequire } from 'node:module';const require = nodeCreateRequire(import.meta.url);",
  },
  // The caller reports errors, in one sentence.
  logLevel: 'silent',
} as const satisfies BuildOptions;

/**
 * Returns the options for a function whose native packages are installed beside its bundle.
 * @param source the file whose project has the tsconfig.json, as an absolute path
 */
export function bundleOptions(nativeModules: readonly string[], source: string) {
  const external = [...OPTIONS.external, ...nativeModules];
  return { ...OPTIONS, external, ...tsconfigOf(source) } satisfies BuildOptions;
}

/** Module of every handler's function, in which `#handler` is one handler file. */
export const handlerEntry = 'functions/handler';
export const handlerAlias = '#handler';

/** Module of the API, in which `#catalog` is the list of deployed handlers. */
export const apiEntry = 'functions/api';
export const catalogAlias = '#catalog';

/** Returns the source of `#catalog`, which imports these handler files by absolute path. */
export function catalogSource(files: readonly string[]): string {
  const imports = files.map((file, index) => `import handler${index} from ${JSON.stringify(file)};\n`);
  return `${imports.join('')}export default [${files.map((_file, index) => `handler${index}`).join(', ')}];\n`;
}

/** Name of the function that every bundle exports. */
export const handlerExport = 'handler';

/** Environment of every bundled function. */
export const bundleEnvironment = { NODE_OPTIONS: '--enable-source-maps' } as const;
