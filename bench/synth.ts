import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readProcessStat } from './measures/process-stat.ts';

const ROOT = resolve(import.meta.dirname, '..');
const SECRET = 'arn:aws:secretsmanager:eu-central-1:123456789012:secret';

const sourceOf = (jobType: string) => `
import * as z from 'zod';
import { defineHandler } from '${ROOT}/core/index.ts';

export default defineHandler({
  jobType: '${jobType}',
  payload: z.object({ to: z.email() }),
  concurrency: 2,
  run: async ({ payload }) => ({ sent: payload.to }),
});
`;

/** Prints the processor time of `cdk synth` for a stage with that number of handlers, child processes included. */
export async function runSynth({ handlers, print }: { handlers: number; print: (text: string) => void }) {
  const project = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  try {
    await writeProject(project, handlers);
    const context = {
      ...{ stage: 'bench', handlers: join(project, 'jobs'), database: 'existing' },
      ...{ databaseOwnerSecret: `${SECRET}:owner-AbCdEf`, databaseRuntimeSecret: `${SECRET}:runtime-AbCdEf` },
      ...{ handlerStacks: Math.ceil(handlers / 30), accountConcurrency: 2 * handlers + 1000 },
    };
    const variables = { CDK_OUTDIR: join(project, 'cdk.out'), CDK_CONTEXT_JSON: JSON.stringify(context) };
    const begun = performance.now();
    const before = await reapedMs();
    execFileSync(process.execPath, [join(ROOT, 'infra/app.ts')], { cwd: ROOT, env: { ...process.env, ...variables } });
    const [cpu, elapsed] = [(await reapedMs()) - before, performance.now() - begun];
    const took = `${inSeconds(cpu)} s of the processor, and ${inSeconds(elapsed)} s in all`;
    print(`a synthesis of ${handlers} handlers takes ${took}`);
  } finally {
    await rm(project, { recursive: true, force: true });
  }
}

async function writeProject(project: string, handlers: number): Promise<void> {
  await mkdir(join(project, 'jobs'));
  await writeFile(join(project, 'package.json'), '{"name": "bench", "private": true, "type": "module"}');
  await symlink(join(ROOT, 'node_modules'), join(project, 'node_modules'));
  for (let n = 1; n <= handlers; n += 1) {
    await writeFile(join(project, 'jobs', `send-mail-${n}.ts`), sourceOf(`send_mail_${n}`));
  }
}

/** Returns the processor time of all child processes of this process that have ended. */
async function reapedMs(): Promise<number> {
  return (await readProcessStat('self'))?.reapedCpuMs ?? 0;
}

function inSeconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
