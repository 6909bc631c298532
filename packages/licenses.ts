import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { ROOT } from './manifests.ts';

/** Returns the licenses of the packages whose code is in a bundle, which require that copies contain them. */
export function licensesOf({ inputs }: Metafile): string {
  const folders = Object.keys(inputs).flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].sort().map(licenseOf).join('\n\n');
}

function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
  const file = readdirSync(join(ROOT, folder)).find((one) => /^licen[cs]e/i.test(one));
  const text =
    file !== undefined && existsSync(join(ROOT, folder, file)) && readFileSync(join(ROOT, folder, file), 'utf8');
  return `## ${name} ${version} (${license})\n\n${text || ''}`.trim();
}
