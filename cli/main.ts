import { enableCompileCache } from 'node:module';

// Without the cache, compiling unchanged code takes half of a command's time.
enableCompileCache();
const { run } = await import('./run.ts');
await run(process.argv.slice(2));
