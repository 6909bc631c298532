import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { functionName } from '../core/handler/naming.ts';
import { apiEntry, catalogAlias, catalogSource } from '../infra/bundle/options.ts';
import { bundleFunction } from './functions/bundle-function.ts';
import type { HandlerBundles } from './functions/handler-bundles.ts';
import { STAGE } from './state.ts';

export const API_FUNCTION = functionName(STAGE, 'api');

/** Bundles the function behind the gateway into `folder`, with every handler whose payloads it checks. */
export async function bundleApi(folder: string, { handlers }: HandlerBundles): Promise<void> {
  const bundle = apiBundle(folder);
  const catalog = join(dirname(bundle), 'catalog.ts');
  await mkdir(dirname(catalog), { recursive: true });
  await writeFile(catalog, catalogSource(handlers.map(({ file }) => file)));
  const entry = join(import.meta.dirname, '..', apiEntry);
  const nativeModules = handlers.flatMap(({ definition }) => definition.nativeModules ?? []);
  await bundleFunction({ entry, outFile: bundle, alias: { [catalogAlias]: catalog }, nativeModules });
}

/** Where it is put. */
export function apiBundle(folder: string): string {
  return join(folder, API_FUNCTION, 'index.mjs');
}
