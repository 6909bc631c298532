import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isForeign } from '../../core/catalog/handler-files.ts';
import { isProjectRoot } from '../../core/project-root.ts';

/** Resolution of the clock that file systems use for timestamps, with a margin. */
const CLOCK_STEP_MS = 20;
const SOURCE = /\.([cm]?[jt]sx?|json)$/;
/** Files that determine how the bundler resolves imports, and which it does not list among its inputs. */
const CONFIG = /^(package|[jt]sconfig.*)\.json$/;

/**
 * Returns a text that differs after one of these files was saved; undefined if one was saved after `begun`, because
 * what was built from it since then may contain its old or its new text.
 */
export async function signatureOf(
  files: readonly string[],
  begun = Number.POSITIVE_INFINITY,
): Promise<string | undefined> {
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => undefined)));
  if (stats.some((file) => file !== undefined && file.mtimeMs >= begun - CLOCK_STEP_MS)) return undefined;
  return stats.map((file) => `${file?.mtimeMs}-${file?.size}`).join(' ');
}

/**
 * Returns a signature of sources that also differs when their imports may be resolved otherwise: when a settings file
 * of the project was saved, or when a source was added to one of their folders or to one above, up to the project.
 */
export async function signatureWithImports(sources: readonly string[], begun?: number): Promise<string | undefined> {
  const beside = (await Promise.all(foldersOf(sources).map(sourcesIn))).flat();
  const signature = await signatureOf([...sources, ...beside.filter((file) => CONFIG.test(basename(file)))], begun);
  return signature && [...beside, signature].join('\n');
}

function foldersOf(sources: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const source of sources) {
    for (let folder = dirname(source); !folders.has(folder); folder = dirname(folder)) {
      folders.add(folder);
      if (isProjectRoot(folder)) break;
    }
  }
  return [...folders];
}

async function sourcesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => SOURCE.test(name) && !isForeign(name))
    .sort()
    .map((name) => join(folder, name));
}
