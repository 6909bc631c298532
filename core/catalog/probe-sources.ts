import { type Stats, statSync } from 'node:fs';
import type { CatalogFailure } from './catalog-failure.ts';
import type { HandlerEntry } from './import-handler.ts';

/** One line that the process of a probe writes. */
export type Told =
  /** A file that it is about to load, with its state before that; undefined for an import that was not found. */
  | { readonly source: string | undefined; readonly state: string }
  /** The limit that ends the process. */
  | { readonly limit: 'busy' | 'waits' }
  /** An error that nothing caught, as Node prints it. */
  | { readonly uncaught: string }
  | { readonly verdict: HandlerEntry | CatalogFailure };

/** What a reading of a handler file depends on. */
export interface Sources {
  /** Names of all handler files of the folder. */
  readonly siblings: string;
  /** State by absolute path. Installed packages count only while they are why a reading failed. */
  readonly states: Map<string, string>;
  /** Whether an import was not found: it may be found at any time, in a folder that is not known. */
  isIncomplete: boolean;
}

/** Resolution of the clock that file systems use for modification times, with a margin, in milliseconds. */
const CLOCK_STEP_MS = 20;
/** The state of a file that was saved just now: another save can leave the same time and size. */
const UNSETTLED = 'unsettled';

export function beginSources(file: string, siblings: readonly string[]): Sources {
  return { siblings: siblings.join('/'), states: new Map([[file, stateOf(file)]]), isIncomplete: false };
}

export function addSource(sources: Sources, { source, state }: Extract<Told, { state: string }>): void {
  if (source === undefined) sources.isIncomplete = true;
  else sources.states.set(source, state);
}

/** Forgets installed packages, which are many, once a reading has succeeded: `npm install` requires a restart. */
export function forgetPackages({ states }: Sources): void {
  for (const file of states.keys()) if (file.includes('/node_modules/')) states.delete(file);
}

/** Returns whether no source was saved since it was loaded. */
export function isCurrent({ siblings, states, isIncomplete }: Sources, now: readonly string[]): boolean {
  if (isIncomplete || siblings !== now.join('/')) return false;
  return [...states].every(([file, state]) => state !== UNSETTLED && state === stateOf(file));
}

export function stateOf(file: string): string {
  const found: Stats | undefined = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return 'absent';
  return Date.now() - found.mtimeMs < CLOCK_STEP_MS ? UNSETTLED : `${found.mtimeMs}-${found.size}`;
}
