import { watch } from 'node:fs';

/** Editors write a file in several steps: only when it has been quiet for a moment is it read. */
const QUIET_MS = 150;

/**
 * Calls `reload` after something under `folder` was saved; a call that fails is told by `say`. Returns what ends it,
 * which waits for a call under way.
 */
export function watchSources(
  folder: string,
  reload: () => Promise<void>,
  say: (line: string) => void,
): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  const run = () => {
    last = last.then(reload).catch((error: unknown) => {
      say(`reload failed: ${error instanceof Error ? error.message : String(error)}`);
    });
  };
  const watcher = watch(folder, { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(run, QUIET_MS);
  });
  watcher.on('error', (error) => say(`saved files are not noticed any more: ${error.message}`));
  return async () => {
    clearTimeout(timer);
    watcher.close();
    await last;
  };
}
