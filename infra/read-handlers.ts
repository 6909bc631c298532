import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { loadCatalog } from '../core/catalog/catalog.ts';
import { stemOf } from '../core/catalog/handler-files.ts';
import { createModuleFolder } from '../core/catalog/module-folder.ts';
import { openProbe } from '../core/catalog/probe.ts';
import { compileSource } from './bundle/compile.ts';

// A process of its own, because the constructor of a construct cannot wait. It reads the handlers of a folder, and
// prints them as JSON.
const [folder = ''] = process.argv.slice(2);
const target = createModuleFolder(folder);
try {
  const catalog = await loadCatalog(folder, openProbe(), async (file) => {
    const module = join(target, `${stemOf(file)}.mjs`);
    await compileSource(file, module, () => undefined);
    return module;
  });
  process.stdout.write(JSON.stringify(catalog));
} finally {
  rmSync(target, { recursive: true, force: true });
}
