import { relative, resolve } from 'node:path';
import { type BuildFailure, type BuildOptions, build, type Message, stop } from 'esbuild';
import { bundleOptions } from '../../infra/bundle/options.ts';

export interface BundleRequest {
  /** The file that exports the handler, absolute or relative to the working folder. */
  entry: string;
  /** Ends in `.mjs`; the source map is written beside it. */
  outFile: string;
  /** Import specifier to absolute path, e.g. `#handler` to one handler file. */
  alias?: Readonly<Record<string, string>>;
  /** Packages with native code, which the function loads from `node_modules` at run time. */
  nativeModules?: readonly string[] | undefined;
}

export interface Bundle {
  /** Absolute paths of its sources outside `node_modules`: the files to watch. */
  sources: string[];
  bytes: number;
}

/** Bundles one function as a deployment does. Throws `BundleError` with file and line if a source does not compile. */
export async function buildBundle({ entry, outFile, alias = {}, nativeModules = [] }: BundleRequest): Promise<Bundle> {
  try {
    const { metafile } = await buildAndRest({
      ...bundleOptions(nativeModules, resolve(Object.values(alias)[0] ?? entry)),
      entryPoints: [entry],
      outfile: outFile,
      alias: { ...alias },
      metafile: true,
      absWorkingDir: process.cwd(),
    });
    return {
      sources: Object.keys(metafile.inputs)
        .filter((path) => !/(^|\/)node_modules\//.test(path) && !path.startsWith('<'))
        .map((path) => resolve(path)),
      bytes: metafile.outputs[relative(process.cwd(), resolve(outFile))]?.bytes ?? 0,
    };
  } catch (cause) {
    if (!isBuildFailure(cause)) throw cause;
    throw new BundleError(cause.errors.map(describe).join('\n'), { cause });
  }
}

let building = 0;

/**
 * Builds, and stops the bundler's process after the last of several builds: it occupies 270 MB, and restarts within
 * milliseconds.
 */
async function buildAndRest(options: BuildOptions & { metafile: true }) {
  building += 1;
  try {
    return await build(options);
  } finally {
    building -= 1;
    if (building === 0) await stop();
  }
}

class BundleError extends Error {
  override readonly name = 'BundleError';
  readonly code = 'BUNDLE_FAILED';
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && Array.isArray((error as Partial<BuildFailure>).errors);
}

function describe({ location, text }: Message): string {
  return location ? `${location.file}:${location.line}:${location.column + 1} ${text}` : text;
}
