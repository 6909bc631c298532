import { access, constants, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { compare, comparePhases } from './compare.ts';
import { currentLoad, describe } from './describe.ts';
import { measureLatency } from './latency/measure-latency.ts';
import { measureStackLatency } from './latency/stack-latency.ts';
import { runLoad } from './load.ts';
import { onWorld, type World } from './measures/measure-jobs.ts';
import { runOpenTestDatabase } from './open-test-database.ts';
import type { BenchOptions, CompareOptions, Question } from './options.ts';
import type { Answers, Result } from './result.ts';
import { compareSingles } from './singles.ts';
import { runStack } from './stack.ts';
import { UsageError } from './usage-error.ts';
import { measureFailing, measurePayloads } from './variants.ts';

type Print = (text: string) => void;
type InDatabase = (world: World, options: CompareOptions) => Promise<Answers>;

/** The questions that share a server and take turns on it. */
const IN_DATABASE: Partial<Readonly<Record<Question, InDatabase>>> = {
  throughput: async (...of) => ({ throughput: await compare(...of) }),
  phases: async (...of) => ({ phases: await comparePhases(...of) }),
  singles: async (...of) => ({ singles: await compareSingles(...of) }),
  latency: async (...of) => ({ latency: await measureLatency(...of) }),
  failing: async (...of) => ({ failing: await measureFailing(...of) }),
  payloads: async (...of) => ({ payloads: await measurePayloads(...of) }),
};
/** Share of the jobs that the whole local stack runs. */
const STACK_SHARE = 0.1;

/**
 * Answers the questions and prints the answers. The file of the result is written after each question.
 * @throws UsageError, before any measurement, if the file cannot be written.
 */
export async function answer(options: BenchOptions, args: readonly string[], print: Print): Promise<void> {
  const { questions, json } = options;
  // A measurement can take hours: its result must not fail at the end.
  if (json !== undefined) await checkFolder(json);
  const inDatabase = questions.flatMap((question) => IN_DATABASE[question] ?? []);
  let result = describe(options, args);
  print(headOf(result));
  const keep = async (answers: Answers) => {
    const { machine } = result;
    const load = [machine.load[0] ?? 0, currentLoad()];
    result = { ...result, ...answers, machine: { ...machine, load } };
    if (json !== undefined) await writeFile(json, `${JSON.stringify(result, null, 2)}\n`);
  };
  if (inDatabase.length > 0) {
    await onWorld(print, async (world) => {
      result = { ...result, machine: { ...result.machine, postgres: world.server.version } };
      for (const one of inDatabase) await keep(await one(world, options));
    });
  }
  if (questions.includes('load')) await keep({ loadMs: await runLoad(print) });
  if (questions.includes('test-database')) await keep({ testDatabase: await runOpenTestDatabase(print) });
  const jobs = Math.ceil(options.jobs * STACK_SHARE);
  if (questions.includes('stack')) await keep({ stack: await runStack({ jobs, print }) });
  if (questions.includes('latency') && options.stack) {
    const rows = await measureStackLatency(options.jobs, print);
    await keep({ latency: [...(result.latency ?? []), ...rows] });
  }
}

function headOf({ jobs, runs, pinned, commit, machine: { processors, node } }: Result): string {
  return [
    `${jobs} jobs${pinned ? ', with an open transaction' : ''}, median of ${runs}; commit ${commit}`,
    `${processors}; Node ${node}; Postgres with fsync and synchronous_commit on\n`,
  ].join('\n');
}

async function checkFolder(file: string): Promise<void> {
  const folder = dirname(resolve(file));
  try {
    await access(folder, constants.W_OK);
  } catch (cause) {
    throw new UsageError(`--json: expected a file in a folder that exists and is writable, got ${file}`, { cause });
  }
}
