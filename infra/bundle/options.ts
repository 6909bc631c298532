import type { BuildOptions } from 'esbuild';
import type { DefinitionData } from '../../core/handler/definition.ts';
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
  outExtension: { '.js': '.mjs' },
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

/** Module of the API, in which `#catalog` has the modules of the deployed handlers. */
export const apiEntry = 'functions/api';
export const catalogAlias = '#catalog';

interface HandlerFile {
  readonly name: string;
  /** Absolute path. */
  readonly file: string;
}

const handlerSpecifier = (name: string) => `#catalog-handlers/${name}`;

/**
 * Returns the source of `#catalog`: each handler file is imported when the API first requires it. In a bundle it is a
 * module of its own, so neither its size nor an error in it affects the start of the API. The source contains no path,
 * because a source map contains the lengths of its lines: `handlerFiles` has the paths.
 */
export function catalogSource(handlers: readonly HandlerFile[]): string {
  const members = handlers.map(
    ({ name }) => `  ${JSON.stringify(name)}: () => import(${JSON.stringify(handlerSpecifier(name))}),\n`,
  );
  return `export default {\n${members.join('')}};\n`;
}

/** Returns the files of the specifiers in `#catalog`. */
export function handlerFiles(handlers: readonly HandlerFile[]): Record<string, string> {
  return Object.fromEntries(handlers.map(({ name, file }) => [handlerSpecifier(name), file]));
}

/** Specifier of the handlers' definitions as data, in the functions that read them without their code. */
export const definitionsAlias = '#definitions';

/** Returns the source of `#definitions`. As an expression, a member `__proto__` of JSON would have another meaning. */
export function definitionsSource(definitions: readonly DefinitionData[]): string {
  return `export default JSON.parse(${JSON.stringify(JSON.stringify(definitions))});\n`;
}

/** Name of the function that every bundle exports. */
export const handlerExport = 'handler';

/** Environment of every bundled function. */
export const bundleEnvironment = { NODE_OPTIONS: '--enable-source-maps' } as const;

/**
 * Environment of a function without a route for IPv4: the SDK uses endpoints that also have IPv6 addresses, and Node
 * tries those first, instead of waiting for a connection that the VPC drops.
 */
export const ipv6Environment = {
  NODE_OPTIONS: `${bundleEnvironment.NODE_OPTIONS} --dns-result-order=ipv6first`,
  AWS_USE_DUALSTACK_ENDPOINT: 'true',
} as const;
