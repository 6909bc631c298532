import { accessSync, constants, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');
/** The folder where a clone keeps its bundle. The code finds its files from the package.json above it. */
const KEPT = join(ROOT, '.millrace', 'cli');
const MAIN = 'cli/main.ts';
/** Files besides the sources whose changes require a new bundle. */
const ALSO = ['node_modules/.package-lock.json', 'cli/bundle.ts'];
/** Resolution of the clock that file systems use for modification times, in milliseconds. */
const CLOCK_STEP_MS = 20;
/** Age after which a replaced bundle is deleted: commands that still run have loaded all their files by then. */
const OLD_MS = 3_600_000;

/**
 * Returns the options of the bundler. One file contains the commands, core and the packages that every command loads;
 * other files contain what a single command loads when it runs. External packages are loaded from where they are
 * installed. So is the stack, which starts processes and bundles functions from the folders of its own sources.
 */
function options(): BuildOptions {
  return {
    absWorkingDir: ROOT,
    entryPoints: [MAIN],
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    external: ['pg-native', 'esbuild', 'mailparser', '@aws-sdk/*'],
    plugins: [
      {
        name: 'stack',
        setup: ({ onResolve }) =>
          onResolve({ filter: /\/local\/up\.ts$/ }, () => ({ path: '../../local/up.ts', external: true })),
      },
    ],
    // pg is CommonJS and calls `require`, which ES modules do not have.
    banner: {
      js: "import { createRequire as nodeCreateRequire } from 'node:module';const require = nodeCreateRequire(import.meta.url);",
    },
    logLevel: 'silent',
  };
}

/**
 * Bundles the command line of this clone, keeps the bundle until a source changes, and returns the URL to import.
 * Several processes can do this at the same time: files are named by their content and renamed into place, and the file
 * that names the others is written last.
 */
export async function keepBundle(): Promise<string> {
  // The parent folder contains the stack's data, so only the current user may open it.
  mkdirSync(KEPT, { recursive: true, mode: 0o700 });
  accessSync(KEPT, constants.W_OK);
  const begun = Date.now();
  // Only Node with --enable-source-maps reads the source maps: reading them makes a command a fifth slower.
  const { outputFiles, metafile } = await build({
    ...options(),
    ...{ outdir: KEPT, entryNames: '[name]-[hash]', sourcemap: 'linked', sourcesContent: false },
    ...{ metafile: true, write: false },
  });
  for (const { path, contents } of outputFiles) writeWhole(path, contents);
  const sources = Object.keys(metafile.inputs).filter((path) => !/(^|\/)node_modules\//.test(path));
  const [main = ''] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === MAIN) ?? [];
  const madeOf = [...sources, ...ALSO].map((path) => [path, ...stateOf(path, begun)]);
  writeWhole(join(KEPT, 'made.json'), JSON.stringify({ main, madeOf }));
  removeOld(new Set(outputFiles.map(({ path }) => relative(KEPT, path))));
  return pathToFileURL(join(ROOT, main)).href;
}

/** Returns what the launcher compares; a file saved after `begun` never matches, as the bundle may lack the change. */
function stateOf(path: string, begun: number): [mtimeMs: number | null, size: number | null] {
  const found = statSync(join(ROOT, path), { throwIfNoEntry: false });
  if (found === undefined) return [null, null];
  return [found.mtimeMs < begun - CLOCK_STEP_MS ? found.mtimeMs : -1, found.size];
}

function writeWhole(path: string, contents: string | Uint8Array): void {
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, contents);
  renameSync(draft, path);
}

function removeOld(current: ReadonlySet<string>): void {
  for (const name of readdirSync(KEPT)) {
    const path = join(KEPT, name);
    const { mtimeMs = Number.POSITIVE_INFINITY } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (!current.has(name) && name !== 'made.json' && Date.now() - mtimeMs > OLD_MS) rmSync(path, { force: true });
  }
}
