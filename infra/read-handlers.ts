import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadCatalog } from '../core/catalog/catalog.ts';
import { listFiles, stemOf } from '../core/catalog/handler-files.ts';
import { createModuleFolder } from '../core/catalog/module-folder.ts';
import { openProbe, type ProbedFile } from '../core/catalog/probe.ts';
import { readTogether } from '../core/catalog/read-together.ts';
import { compileSource, compileTogether } from './bundle/compile.ts';

// A process of its own, because the constructor of a construct cannot wait. It reads the handlers of a folder, and
// prints them as JSON.
const [folder = ''] = process.argv.slice(2);
const target = createModuleFolder(folder);

async function compile(file: string): Promise<string> {
  const module = join(target, `${stemOf(file)}.mjs`);
  await compileSource(file, module, () => undefined);
  return module;
}

/** Compiles the files that can be compiled: all in one build, unless one of them cannot. */
async function compileAll(files: Readonly<Record<string, string>>): Promise<ProbedFile[]> {
  const together = await compileTogether(files, target).catch(() => undefined);
  if (together !== undefined) return together;
  const apart = Object.values(files).map(async (file) => [{ file, module: await compile(file) }]);
  return (await Promise.all(apart.map((one) => one.catch(() => [])))).flat();
}

try {
  const names = await listFiles(folder);
  // The first of two files with one name: `loadCatalog` refuses the second.
  const files = Object.fromEntries(names.toReversed().map((name) => [stemOf(name), resolve(folder, name)]));
  const known = await readTogether(await compileAll(files), names);
  const alone = openProbe();
  const catalog = await loadCatalog(
    folder,
    async (file, siblings, module) => known.get(file) ?? alone(file, siblings, module),
    async (file) => (known.has(file) ? file : compile(file)),
  );
  process.stdout.write(JSON.stringify(catalog));
} finally {
  rmSync(target, { recursive: true, force: true });
}
