import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Catalog } from '../core/catalog/catalog.ts';
import { failureLine } from '../core/catalog/catalog-failure.ts';
import type { HandlerEntry } from '../core/catalog/import-handler.ts';
import { ownModule } from '../core/own-files.ts';

/** Returns the usual folder of handler files: `jobs`, or else `functions/handlers`. */
export function usualHandlers(): string {
  return existsSync('jobs') ? 'jobs' : 'functions/handlers';
}

const known = new Map<string, Catalog>();

/**
 * Reads the handlers of a folder.
 * @throws Error that names every file without a valid handler
 */
export function readHandlers(given: string): readonly HandlerEntry[] {
  const folder = resolve(given);
  if (!existsSync(folder)) throw new Error(`handlers: the folder ${folder} does not exist`);
  const state = readdirSync(folder).map((name) => `${name} ${statSync(join(folder, name)).mtimeMs}`);
  const key = [folder, ...state].join('\n');
  const read = known.get(key) ?? readNow(folder);
  known.set(key, read);
  const { handlers, failures } = read;
  if (failures.length > 0) throw new Error(failures.map((failure) => failureLine(failure, process.cwd())).join('\n'));
  return handlers;
}

function readNow(folder: string): Catalog {
  const args = ['--disable-warning=ExperimentalWarning', ownModule('infra/read-handlers'), folder];
  const output = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  return JSON.parse(output) as Catalog;
}
