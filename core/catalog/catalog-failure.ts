import { readFile } from 'node:fs/promises';
import { basename, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Why a file does not define a handler: one sentence for its author, and the line if it is known. */
export interface CatalogFailure {
  readonly file: string;
  readonly line?: number;
  readonly message: string;
}

/** Returns `functions/handlers/a.ts:3: why`, with a path relative to `folder`. */
export function failureLine({ file, line, message }: CatalogFailure, folder: string): string {
  return `${relative(folder, file)}${line === undefined ? '' : `:${line}`}: ${message}`;
}

/** A source that cannot become a module: one sentence for its author, and the line of the handler file if known. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  readonly line: number | undefined;

  constructor(message: string, line?: number, options?: ErrorOptions) {
    super(message, options);
    this.line = line;
  }
}

/**
 * Describes an error that the import of a file raised.
 * @param handler the name of the handler that the file must define.
 */
export async function describe(file: string, error: unknown, handler?: string): Promise<CatalogFailure> {
  if (error instanceof SourceError) {
    const { line, message } = error;
    return { file, message, ...(line !== undefined && { line }) };
  }
  if (!(error instanceof Error)) return { file, message: `threw ${String(error)}` };
  const owner = handler !== undefined && isUnnamed(error) ? `${handler}: ` : '';
  const message = `${error.name}: ${owner}${error.message}`;
  const line = lineInStack(error.stack ?? '', file) ?? (await lineOfMissingImport(error.message, file));
  if (line !== undefined) return { file, line, message };
  const elsewhere = /(?:file:\/\/)?(\/[^\s():?]+)(?:\?[^:]*)?:(\d+)/.exec(error.stack ?? '');
  return { file, message: elsewhere ? `${message} (at ${elsewhere[1]}:${elsewhere[2]})` : message };
}

/**
 * Returns whether this is the error of a setting, such as those of `retry.fixed`, that does not name its handler.
 * `defineHandler` names it. The package of the project can be another copy, with a class of its own.
 */
function isUnnamed(error: Error & { code?: unknown; field?: unknown }): boolean {
  if (error.code !== 'MILLRACE_SETTING') return false;
  return !/^\w+: /.test(error.message) || error.message.startsWith(`${error.field}: `);
}

/** Returns the first line of `file` in the stack, which names it by its path or by its URL with the query. */
function lineInStack(stack: string, file: string): number | undefined {
  for (const place of [pathToFileURL(file).href, file]) {
    const after = stack.split(place)[1];
    const line = /^(?:\?[^:]*)?:(\d+)/.exec(after ?? '')?.[1];
    if (line !== undefined) return Number(line);
  }
  return undefined;
}

/** Finds the line of a missing import, because Node names the module and the importer but not the line. */
async function lineOfMissingImport(message: string, file: string): Promise<number | undefined> {
  const [, missing, importer] = /^Cannot find (?:package|module) '([^']+)' imported from (.+)$/.exec(message) ?? [];
  if (missing === undefined || importer !== file) return undefined;
  const lines = (await readFile(file, 'utf8')).split('\n');
  const index = lines.findIndex((line) => /\b(from|import)\b/.test(line) && line.includes(basename(missing)));
  return index < 0 ? undefined : index + 1;
}
