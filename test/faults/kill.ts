import { randomInt } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { randomFrom } from '../support/random.ts';
import {
  type Effects,
  enqueueStory,
  findProcesses,
  readEffects,
  STORY_HANDLER,
  untilDone,
  whileRunning,
} from './story.ts';

const KILLS = Number(process.env.MILLRACE_FAULT_KILLS ?? 10);
const JOBS = 100 * KILLS;
const LEAST_RUNNING = 10;
const seed = Number(process.env.MILLRACE_FAULT_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** A process of the stack. */
export interface Target {
  readonly name: string;
  /** Matches the command line or the environment of the process. Default: the process of `npm start`. */
  readonly pattern?: RegExp;
  /** Does what the schedule would do within a minute. */
  readonly after?: (stack: RunningStack) => Promise<void>;
}

let project: Project;
let stack: RunningStack;

/**
 * Declares the test of one process. Each process has a file, because files run in parallel. In the environment,
 * `MILLRACE_FAULT_KILLS=20` makes it take twice as long, and `MILLRACE_FAULT_SEED` repeats a run.
 */
export function killRepeatedly(target: Target): void {
  describe(`kill -9 of the ${target.name}`, () => {
    afterEach(async () => {
      await stack.stop().catch(() => undefined);
      await project.remove();
    });

    it(`at ${KILLS} random instants loses none of ${JOBS} jobs`, async () => {
      const random = randomFrom(seed);
      project = await makeProject({ 'story-mail.ts': STORY_HANDLER });
      await takePorts(project);
      stack = await startUp(project, ['--fast-retries']);
      console.log(`${target.name}: seed ${seed}`);
      await enqueueStory(stack, JOBS, 800);

      for (let kill = 0; kill < KILLS; kill++) {
        expect(await whileRunning(() => stack, LEAST_RUNNING), `jobs left at kill ${kill + 1}`).toBe(true);
        await wait(random() * 1_500);
        await strike(target, random);
      }
      const ends = await untilDone(stack, 300_000);
      const effects = await readEffects(stack);

      report(target.name, effects);
      expect(ends).toEqual({ succeeded: JOBS });
      expect(effects.jobs).toBe(JOBS);
      expect(effects.doubled.filter(({ mails, rescues }) => mails > rescues + 1)).toEqual([]);
    });
  });
}

/** Gives Postgres a port that no stack of another test looks at: one that starts while ours is dead would bind it. */
async function takePorts({ folder }: Project): Promise<void> {
  await mkdir(join(folder, '.millrace'), { mode: 0o700 });
  await writeFile(join(folder, '.millrace', 'ports.json'), JSON.stringify({ postgres: randomInt(20_000, 30_000) }));
}

async function strike({ pattern, after }: Target, random: () => number): Promise<void> {
  const root = stack.process.pid as number;
  if (pattern === undefined) {
    process.kill(root, 'SIGKILL');
    stack = await startUp(project, ['--fast-retries']);
    return;
  }
  const pids = await findProcesses(root, pattern);
  const pid = pids[Math.floor(random() * pids.length)];
  if (pid !== undefined) kill(pid);
  await after?.(stack);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // The process has already ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Prints each job that ran again because its process died after the mail and before the outcome was recorded. */
function report(name: string, { jobs, doubled }: Effects): void {
  const explained = doubled.map(({ job, mails, rescues }) => `job ${job}: ${mails} mails, ${rescues} leases ran out`);
  console.log([`${name}: mails for ${jobs} jobs, ${doubled.length} doubled`, ...explained].join('\n  '));
}
