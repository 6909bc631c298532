import type { BuildOptions } from 'esbuild';

/**
 * How every function is bundled, on AWS and on one machine alike.
 *
 * - Error and class names survive minifying: retry policies filter by them.
 * - The source map lies beside the bundle, without sources in it; `bundleEnvironment` makes Node use it, so that a
 *   stored stack names the file and line that somebody wrote.
 * - Packages in CommonJS call `require`, which an ES module does not have: without the banner pg fails at load with
 *   "Dynamic require of 'events' is not supported".
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
  // The ES module build of a package, where there is one, loses its unused parts.
  mainFields: ['module', 'main'],
  loader: { '.wasm': 'binary' },
  external: ['pg-native'],
  banner: {
    js: "import { createRequire as nodeCreateRequire } from 'node:module';const require = nodeCreateRequire(import.meta.url);",
  },
  // Whoever bundles says what is wrong, in one sentence.
  logLevel: 'silent',
} as const satisfies BuildOptions;

/** For a function whose packages with machine code are beside its bundle, not in it. */
export function bundleOptions(nativeModules: readonly string[]) {
  return { ...OPTIONS, external: [...OPTIONS.external, ...nativeModules] } satisfies BuildOptions;
}

/** Every function is built from this wiring entry, whose `#handler` stands for one file of `functions/handlers/`. */
export const handlerEntry = 'functions/handler.ts';
export const handlerAlias = '#handler';

/** The API is built from this one, whose `#catalog` stands for a list of the deployed handlers. */
export const apiEntry = 'functions/api.ts';
export const catalogAlias = '#catalog';

/** Source of the module in place of `#catalog`: these handler files, by absolute path. */
export function catalogSource(files: readonly string[]): string {
  const imports = files.map((file, index) => `import handler${index} from ${JSON.stringify(file)};\n`);
  return `${imports.join('')}export default [${files.map((_file, index) => `handler${index}`).join(', ')}];\n`;
}

/** Name of the exported function of every bundle. */
export const handlerExport = 'handler';

/** Goes into the environment of every bundled function. */
export const bundleEnvironment = { NODE_OPTIONS: '--enable-source-maps' } as const;
