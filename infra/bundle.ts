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
export const bundleOptions = {
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
} as const satisfies BuildOptions;

/** Every function is built from this wiring entry, whose `#handler` stands for one file of `functions/handlers/`. */
export const handlerEntry = 'functions/handler.ts';
export const handlerAlias = '#handler';

/** Name of the exported function of every bundle. */
export const handlerExport = 'handler';

/** Goes into the environment of every bundled function. */
export const bundleEnvironment = { NODE_OPTIONS: '--enable-source-maps' } as const;
