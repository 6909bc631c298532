import { enableCompileCache } from 'node:module';

// Half of a command's time would go into compiling what has not changed since the last one.
enableCompileCache();
const { run } = await import('./run.ts');
await run(process.argv.slice(2));
