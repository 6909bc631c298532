import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import type { Metafile, OutputFile, Plugin } from 'esbuild';
import { ownModule } from '../../core/own-files.ts';
import { buildAndRest } from './build-and-rest.ts';
import { refuseMachineCode } from './machine-code.ts';
import { bundleOptions, handlerAlias, handlerEntry } from './options.ts';
import { namedPlace } from './source-place.ts';
import { projectOf, rootOf, tsconfigOf } from './tsconfig.ts';

/** A handler whose function is bundled. */
export interface BundledHandler {
  /** Absolute path of the handler file. */
  readonly file: string;
  /** The folder that gets `index.mjs` and its source map. */
  readonly folder: string;
  /** Packages that are not bundled. */
  readonly nativeModules: readonly string[];
}

/** A build reads the runtime once for this number of handlers. It occupies 40 MB for each, and 200 MB without them. */
const HANDLERS_OF_A_BUILD = 12;

/**
 * Bundles the functions of handlers, each with the runtime and its own file only: a function has the same bytes
 * whatever other handlers there are.
 * @throws Error with file and line if a source does not compile
 * @throws SettingError for native code that `nativeModules` does not name
 */
export async function buildHandlers(handlers: readonly BundledHandler[]): Promise<void> {
  const alike = new Map<string, BundledHandler[]>();
  for (const handler of handlers) {
    const { file, nativeModules } = handler;
    const key = JSON.stringify([projectOf(file), tsconfigOf(file), nativeModules.toSorted()]);
    alike.set(key, [...(alike.get(key) ?? []), handler]);
  }
  for (const group of alike.values()) {
    for (let n = 0; n < group.length; n += HANDLERS_OF_A_BUILD) {
      await buildTogether(group.slice(n, n + HANDLERS_OF_A_BUILD));
    }
  }
}

/** Builds handlers that have the same options. */
async function buildTogether(handlers: readonly BundledHandler[]): Promise<void> {
  const { file = '', nativeModules = [] } = handlers[0] ?? {};
  const module = ownModule(handlerEntry);
  const root = rootOf(module, file);
  const { outputFiles, metafile } = await buildAndRest({
    ...bundleOptions(nativeModules, file),
    entryPoints: handlers.map((_, n) => ({ in: `${ENTRY}${n}`, out: `${n}` })),
    // Placed at the root, so that a stack trace names `jobs/send-invoice.ts` and no folder on this machine.
    outdir: root,
    absWorkingDir: root,
    alias: Object.fromEntries(handlers.map((handler, n) => [`${handlerAlias}/${n}`, handler.file])),
    plugins: [entries(module)],
    write: false,
    metafile: true,
  }).catch((cause: unknown) => {
    throw namedPlace(cause);
  });
  for (const [n, handler] of handlers.entries()) {
    const place = `${relative(projectOf(handler.file), handler.file)}: `;
    refuseMachineCode(inputsOf(metafile, `${n}.mjs`), root, place);
    write(handler.folder, outputFiles, `${n}.mjs`);
  }
}

const ENTRY = '#function/';

/** Makes the entry of each handler a module of its own, which imports `#handler/<n>` in place of `#handler`. */
const entries = (module: string): Plugin => ({
  name: 'entries',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^#function\// }, ({ path }) => ({ path: module, suffix: `?${path.slice(ENTRY.length)}` }));
    onLoad({ filter: /[\\/]handler\.[jt]s$/ }, ({ path, suffix }) => {
      if (path !== module || suffix === '') return undefined;
      const source = readFileSync(path, 'utf8');
      const contents = source.replace(/(['"])#handler\1/, `'${handlerAlias}/${suffix.slice(1)}'`);
      if (contents === source) throw new Error(`${path} does not import ${handlerAlias}`);
      return { contents, loader: 'default' };
    });
  },
});

/** Returns the paths of the files from which one output was made, and of those that it does not use in the end. */
function inputsOf({ inputs, outputs }: Metafile, output: string): Set<string> {
  const found = new Set<string>();
  const next = [outputs[output]?.entryPoint];
  for (let path = next.pop(); path !== undefined; path = next.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    for (const one of inputs[path]?.imports ?? []) if (one.external !== true) next.push(one.path);
  }
  return found;
}

/** Writes an output and its source map under the names that a function has. */
function write(folder: string, files: readonly OutputFile[], name: string): void {
  const find = (wanted: string) => {
    const found = files.find(({ path }) => basename(path) === wanted);
    if (found === undefined) throw new Error(`the bundler made no ${wanted}`);
    return found.text;
  };
  const code = find(name);
  const end = code.lastIndexOf('//# sourceMappingURL=');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'index.mjs'), `${code.slice(0, end)}//# sourceMappingURL=index.mjs.map\n`);
  writeFileSync(join(folder, 'index.mjs.map'), JSON.stringify(JSON.parse(find(`${name}.map`))));
}
