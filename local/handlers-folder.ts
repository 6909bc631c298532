import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type FoundAbove, findAbove } from './find-above.ts';

/** The folders of handler files, in the order in which they are searched. */
const FOLDERS = ['jobs', 'functions/handlers'];

/** For messages: where handler files are. */
export const HANDLERS_EXPECTED = FOLDERS.join(' or ');

/** Returns the folder of the handler files of a project: the given one, or the first usual one that exists. */
export function handlersFolder(project: string, given?: string): string | undefined {
  if (given !== undefined) return resolve(project, given);
  const usual = FOLDERS.find((folder) => existsSync(join(project, folder)));
  return usual === undefined ? undefined : join(project, usual);
}

/** Finds the handler files of the project that contains `from`. @throws UntrustedError as `findAbove` */
export function findHandlers(from: string): FoundAbove | undefined {
  for (const folder of FOLDERS) {
    const found = findAbove(from, folder);
    if (found !== undefined) return found;
  }
  return undefined;
}
