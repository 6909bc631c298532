import { basename, dirname, relative, resolve } from 'node:path';
import type { Message } from 'esbuild';
import { buildAndRest, sourceErrors } from '../../infra/bundle/build-and-rest.ts';
import { refuseMachineCode } from '../../infra/bundle/machine-code.ts';
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
  /** Whether what is imported later becomes files of its own, beside the bundle. */
  splitting?: boolean;
}

export interface Bundle {
  /** Absolute paths of its sources outside `node_modules`: the files to watch. */
  sources: string[];
  bytes: number;
  /** Names of the files in the folder of the bundle. */
  files: string[];
}

/**
 * Bundles one function as a deployment does.
 * @throws BundleError with file and line if a source does not compile
 * @throws SettingError if the bundle would need native code that `nativeModules` does not name
 */
export async function buildBundle(request: BundleRequest): Promise<Bundle> {
  const { entry, outFile, alias = {}, nativeModules = [], splitting = false } = request;
  try {
    const { metafile } = await buildAndRest({
      ...bundleOptions(nativeModules, resolve(Object.values(alias)[0] ?? entry)),
      entryPoints: { [basename(outFile, '.mjs')]: entry },
      outdir: dirname(outFile),
      splitting,
      alias: { ...alias },
      metafile: true,
      absWorkingDir: process.cwd(),
    });
    refuseMachineCode(Object.keys(metafile.inputs), process.cwd());
    return {
      sources: Object.keys(metafile.inputs)
        .filter((path) => !/(^|\/)node_modules\//.test(path) && !path.startsWith('<'))
        .map((path) => resolve(path)),
      bytes: metafile.outputs[relative(process.cwd(), resolve(outFile))]?.bytes ?? 0,
      files: Object.keys(metafile.outputs).map((path) => basename(path)),
    };
  } catch (cause) {
    const errors = sourceErrors(cause);
    if (errors === undefined) throw cause;
    throw new BundleError(errors.map(describe).join('\n'), { cause });
  }
}

class BundleError extends Error {
  override readonly name = 'BundleError';
  readonly code = 'BUNDLE_FAILED';
}

function describe({ location, text }: Message): string {
  return location ? `${location.file}:${location.line}:${location.column + 1} ${text}` : text;
}
