import { enableCompileCache } from 'node:module';
import { compileCache } from './compile-cache.ts';

// Without the cache, compiling unchanged code takes half of a command's time.
const folder = compileCache();
if (folder !== undefined) enableCompileCache(folder);
const { run } = await import('./run.ts');
await run(process.argv.slice(2));
