import { accessSync, constants, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');
/**
 * Where a clone keeps its bundle, and `dist/cli/bundle` is the one of a package: two folders below `migrations`, as the
 * source is that finds them, and not below `node_modules`, where Node finds no package.json, which has our version.
 */
const KEPT = join(ROOT, '.millrace', 'cli');
const MAIN = 'cli/main.ts';
/** Besides the sources: what is installed, and how it is bundled. */
const ALSO = ['node_modules/.package-lock.json', 'cli/bundle.ts'];
/** File systems take their time from a clock that moves in steps. */
const CLOCK_STEP_MS = 20;
/** A command that runs for longer has loaded what it needs. */
const OLD_MS = 3_600_000;

/**
 * What the bundle holds: the commands, core, and the packages that every command loads, in one file; what a command
 * loads when it is run, in others. The rest stays where it is installed, and is loaded from there by the few commands
 * that use it. So does the stack, which starts processes and bundles functions from the folders of its own sources.
 */
function optionsOf(suffix: '.ts' | '.js'): BuildOptions {
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
          onResolve({ filter: /\/local\/up\.ts$/ }, () => ({ path: `../../local/up${suffix}`, external: true })),
      },
    ],
    // pg is CommonJS, whose `require` an ES module does not have.
    banner: {
      js: "import { createRequire as nodeCreateRequire } from 'node:module';const require = nodeCreateRequire(import.meta.url);",
    },
    logLevel: 'silent',
  };
}

/** Puts the bundle into the folder of what a package ships. */
export async function bundlePackage(dist: string): Promise<void> {
  await build({ ...optionsOf('.js'), outdir: join(dist, 'cli', 'bundle') });
}

/**
 * Bundles the command line of this clone, and keeps the bundle for as long as its sources stay as they are. Several
 * processes can do so at once: a file is named by its content and comes as a whole, and the one that names the others
 * comes last. Answers the address of what is to be imported.
 */
export async function keepBundle(): Promise<string> {
  mkdirSync(KEPT, { recursive: true });
  accessSync(KEPT, constants.W_OK);
  const begun = Date.now();
  // Node reads the source maps with --enable-source-maps; for a command that ends well it would be a fifth more to do.
  const { outputFiles, metafile } = await build({
    ...optionsOf('.ts'),
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

/** What the launcher compares. A file saved meanwhile is never equal: the bundle may have its old text. */
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

if (import.meta.main) await bundlePackage(join(ROOT, 'dist'));
