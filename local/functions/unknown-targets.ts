import { unknownTargets } from '../../core/catalog/catalog.ts';
import { failureLine } from '../../core/catalog/catalog-failure.ts';
import type { HandlerEntry } from '../../core/catalog/import-handler.ts';

interface Output {
  /** The folder that the names of files are relative to. */
  readonly project: string;
  readonly printLine: (line: string) => void;
}

/**
 * Returns a function that prints a line for each handler that was read and whose `onDeadLetter` names no handler file,
 * once. Such a handler is deployed, because the other file may be saved later; a deployment to AWS refuses it.
 */
export function openTargetCheck({ project, printLine }: Output) {
  let known: ReadonlySet<string> = new Set();
  return async (files: ReadonlyMap<string, Promise<HandlerEntry | string>>): Promise<void> => {
    const read = await Promise.all(files.values());
    const valid = read.filter((file) => typeof file !== 'string');
    const failures = unknownTargets(valid, [...files.keys()]);
    const lines = failures.map((one) => `${failureLine(one, project)} (the jobs for its dead letters wait)`);
    for (const line of lines) if (!known.has(line)) printLine(line);
    known = new Set(lines);
  };
}
