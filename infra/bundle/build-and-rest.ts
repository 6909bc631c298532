import { type BuildFailure, type BuildOptions, type BuildResult, build, type Message, stop } from 'esbuild';

let building = 0;

/**
 * Builds, and stops the bundler's process after the last of several builds: it occupies 270 MB, and restarts within
 * milliseconds.
 */
export async function buildAndRest<Options extends BuildOptions>(options: Options): Promise<BuildResult<Options>> {
  building += 1;
  try {
    const plain: BuildOptions = options;
    return (await build(plain)) as BuildResult<Options>;
  } finally {
    building -= 1;
    if (building === 0) await stop();
  }
}

/** Returns the errors of the sources; undefined if something else failed. */
export function sourceErrors(error: unknown): readonly Message[] | undefined {
  const { errors } = (error ?? {}) as Partial<BuildFailure>;
  return error instanceof Error && Array.isArray(errors) && errors.length > 0 ? errors : undefined;
}
