import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { Stack } from 'aws-cdk-lib';
import type { Millrace } from './millrace.ts';

/** Adds to a deployment, for example a bucket and the permission of a handler to write to it. */
export type Extend = (millrace: Millrace, stack: Stack) => void | Promise<void>;

/**
 * Calls the default export of `file`, an absolute path, if the file exists. This repository does not contain the file,
 * so an update does not conflict with it.
 * @throws Error if the file exports no function
 */
export async function extendBy(file: string, stack: Stack & { readonly millrace: Millrace }): Promise<void> {
  if (!existsSync(file)) return;
  const { default: extend }: { default?: unknown } = await import(pathToFileURL(file).href);
  if (typeof extend !== 'function') {
    throw new Error(`${file}: expected a function (millrace, stack) => … as its default export`);
  }
  await (extend as Extend)(stack.millrace, stack);
}
