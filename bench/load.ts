import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { bundleFunction } from '../infra/bundle/bundle-function.ts';
import { handlerAlias, handlerEntry } from '../infra/bundle/options.ts';

const RUNS = 9;
const ENVIRONMENT = {
  MILLRACE_QUEUE_URL: 'http://127.0.0.1:9/q',
  AWS_REGION: 'eu-central-1',
  DATABASE_URL: 'postgres://reader@127.0.0.1:9/none',
};

/** Returns the processor time of the import of a handler's bundle, in milliseconds: our share of a cold start. */
export async function runLoad(print: (text: string) => void): Promise<number> {
  const parent = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  try {
    const folder = join(parent, 'function');
    const entry = join(import.meta.dirname, 'handlers', 'no-op.ts');
    bundleFunction(folder, Architecture.ARM_64, { entry: handlerEntry, alias: { [handlerAlias]: entry } });
    const times = Array.from({ length: RUNS }, () => loadTime(join(folder, 'index.mjs'))).sort((a, b) => a - b);
    const median = times[Math.floor(RUNS / 2)] ?? 0;
    print(`\na handler's bundle loads in ${median.toFixed(0)} ms of the processor, median of ${RUNS}`);
    return median;
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
}

function loadTime(file: string): number {
  const script = `const begun = process.threadCpuUsage();
    await import(${JSON.stringify(file)});
    const { user, system } = process.threadCpuUsage(begun);
    console.log((user + system) / 1000);
    process.exit(0);`;
  const env = { PATH: process.env.PATH, ...ENVIRONMENT };
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' }));
}
