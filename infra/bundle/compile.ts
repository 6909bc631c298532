import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BuildOptions, Plugin } from 'esbuild';
import { SourceError } from '../../core/catalog/catalog-failure.ts';
import { buildAndRest, sourceErrors } from './build-and-rest.ts';
import { tsconfigOf } from './tsconfig.ts';

const OPTIONS = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // As Node resolves packages: without the condition `module`, which only bundlers have.
  conditions: [],
  keepNames: true,
  sourcemap: 'inline',
  sourcesContent: false,
  write: false,
  metafile: true,
  logLevel: 'silent',
  banner: {
    js: "import { createRequire as nodeCreateRequire } from 'node:module';const require = nodeCreateRequire(import.meta.url);",
  },
} as const satisfies BuildOptions;

/** What a compiled source consists of. */
export interface Compiled {
  /** Absolute paths of the sources, without packages. */
  readonly sources: readonly string[];
}

/**
 * Compiles a source with the modules of its project that it imports, as the function's bundle does: with the path
 * aliases of its tsconfig.json, without suffixes, with enums. Packages are imported from where they are installed. The
 * module is written to `target` unless it is there already.
 * @param check called with the sources before the module is written
 * @throws SourceError with file and line if a source does not compile
 */
export async function compileSource(
  file: string,
  target: string,
  check: (sources: readonly string[]) => void,
): Promise<Compiled> {
  // Node then names the lines of the sources in stacks.
  process.setSourceMapsEnabled(true);
  const folder = dirname(file);
  const { outputFiles, metafile } = await buildAndRest({
    ...OPTIONS,
    ...tsconfigOf(file),
    entryPoints: [file],
    outfile: target,
    absWorkingDir: folder,
    plugins: [packagesApart],
  }).catch((error: unknown) => {
    throw toSourceError(error, file);
  });
  const sources = Object.keys(metafile.inputs).map((path) => resolve(folder, path));
  check(sources);
  const text = outputFiles[0]?.text ?? '';
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  if ((await readFile(target, 'utf8').catch(() => undefined)) !== text) await writeFile(target, text, { mode: 0o600 });
  return { sources };
}

/**
 * Compiles the handler files of one folder in one build, which reads a module that several of them import only once.
 * Returns the module of each file, in `folder`.
 * @param files absolute paths by the names of their modules without a suffix
 * @throws an error if any source does not compile: `compileSource` says which
 */
export async function compileTogether(
  files: Readonly<Record<string, string>>,
  folder: string,
): Promise<{ readonly file: string; readonly module: string }[]> {
  const [first] = Object.values(files);
  if (first === undefined) return [];
  const entryPoints = Object.entries(files).map(([name, file]) => ({ in: file, out: name }));
  await buildAndRest({
    ...{ ...OPTIONS, ...tsconfigOf(first), entryPoints, outdir: folder, outExtension: { '.js': '.mjs' } },
    ...{ chunkNames: 'shared/[hash]', splitting: true, write: true, absWorkingDir: dirname(first) },
    plugins: [packagesApart],
  });
  return Object.entries(files).map(([name, file]) => ({ file, module: join(folder, `${name}.mjs`) }));
}

/** Leaves packages where they are installed. A link to a package of the same repository is a source. */
const packagesApart: Plugin = {
  name: 'packages apart',
  setup: ({ onResolve, resolve: find }) => {
    onResolve({ filter: /^[^.]/ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      if (kind === 'entry-point' || pluginData === packagesApart) return undefined;
      const found = await find(path, { kind, importer, resolveDir, pluginData: packagesApart });
      if (found.errors.length > 0) return undefined;
      if (found.external || !/\/node_modules\//.test(found.path)) return found;
      return { path: kind.startsWith('require') ? found.path : pathToFileURL(found.path).href, external: true };
    });
  },
};

/** The compiler does not find a package, as opposed to a path or an alias such as `@/price`. */
const NO_PACKAGE = /^Could not resolve "(?:@[\w.-]+\/)?[a-z][\w./-]*"$/;

/** Returns an error with a line of the handler file, or with the file and line of a module that it imports. */
function toSourceError(cause: unknown, file: string): unknown {
  const [first] = sourceErrors(cause) ?? [];
  if (first === undefined) return cause;
  const { location } = first;
  const text = NO_PACKAGE.test(first.text) ? `${first.text}: is the package installed?` : first.text;
  const place = location ? resolve(dirname(file), location.file) : file;
  if (place === file) return new SourceError(text, location?.line, { cause });
  return new SourceError(`${relative(dirname(file), place)}:${location?.line}: ${text}`, undefined, { cause });
}

/** Returns the files that a failed compilation names, which its author may correct. */
export function namedSources(error: SourceError, file: string): string[] {
  const locations = (sourceErrors(error.cause) ?? []).flatMap(({ location }) => location?.file ?? []);
  return locations.map((name) => resolve(dirname(file), name));
}
