import { parseArgs } from 'node:util';
import { UsageError } from './usage-error.ts';

/** The questions of the benchmark, in the order in which it answers them. */
export const QUESTIONS = [
  'throughput',
  'phases',
  'singles',
  'latency',
  'failing',
  'payloads',
  'load',
  'test-database',
  'stack',
] as const;
export type Question = (typeof QUESTIONS)[number];

export interface CompareOptions {
  readonly jobs: number;
  /** How many runs the medians are taken from. */
  readonly runs: number;
  /** Jobs that one statement takes. */
  readonly batches: readonly number[];
  /** Whether to measure the other systems too. */
  readonly peers: boolean;
  /** Whether another transaction stays open during the run, so that vacuum cannot remove anything. */
  readonly pinned: boolean;
}

export interface BenchOptions extends CompareOptions {
  /** Whether to measure the whole local stack. */
  readonly stack: boolean;
  readonly questions: readonly Question[];
  /** The file that gets the result. */
  readonly json: string | undefined;
}

/** What a command line asks for. */
export type Task =
  | ({ readonly kind: 'questions' } & BenchOptions)
  /** Make the page from this result. */
  | { readonly kind: 'page'; readonly file: string }
  /** Measure the SQS emulator alone, with messages instead of jobs. */
  | { readonly kind: 'sqs'; readonly messages: number; readonly runs: number }
  /** Measure new processes of the deployed functions. */
  | { readonly kind: 'cold'; readonly runs: number }
  | { readonly kind: 'synth'; readonly handlers: number };

const ALONE = ['page', 'sqs', 'cold', 'synth'] as const;
const DEFAULTS = { jobs: '50000', runs: '5', batches: '10,100,500', handlers: '300' };
/** The options that each of them reads. */
const READ = { page: [], sqs: ['jobs', 'runs'], cold: ['runs'], synth: ['handlers'] } as const;

/** @throws UsageError with a sentence that names the option and what it expects. */
export function parseOptions(args: readonly string[]): Task {
  const values = readArgs(args);
  const number = (name: 'jobs' | 'runs' | 'handlers') => positive(name, values[name] ?? DEFAULTS[name]);
  for (const name of ['json', 'page'] as const) {
    if (values[name] === '') throw new UsageError(`--${name}: expected the path of a file, got an empty one`);
  }
  const alone = ALONE.find((name) => values[name]);
  if (alone) checkAlone(alone, Object.keys(values));
  if (values.page) return { kind: 'page', file: values.page };
  if (values.sqs) return { kind: 'sqs', messages: number('jobs'), runs: number('runs') };
  if (values.cold) return { kind: 'cold', runs: number('runs') };
  if (values.synth) return { kind: 'synth', handlers: number('handlers') };
  if (values.handlers !== undefined) throw new UsageError('--handlers: expected together with --synth only');
  const { peers = true, pinned = false, stack = true, json } = values;
  return {
    ...{ kind: 'questions', jobs: number('jobs'), runs: number('runs'), peers, pinned, stack, json },
    batches: (values.batches ?? DEFAULTS.batches).split(',').map((text) => positive('batches', text)),
    questions: questionsOf(values.only, stack),
  };
}

function readArgs(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowNegative: true,
      options: {
        ...{ jobs: { type: 'string' }, runs: { type: 'string' }, batches: { type: 'string' } },
        ...{ peers: { type: 'boolean' }, pinned: { type: 'boolean' }, stack: { type: 'boolean' } },
        ...{ only: { type: 'string' }, json: { type: 'string' }, page: { type: 'string' } },
        ...{ sqs: { type: 'boolean' }, cold: { type: 'boolean' } },
        ...{ synth: { type: 'boolean' }, handlers: { type: 'string' } },
      },
    }).values;
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function checkAlone(alone: (typeof ALONE)[number], given: readonly string[]): void {
  const read: readonly string[] = [alone, ...READ[alone]];
  const unread = given.find((name) => !read.includes(name));
  if (unread !== undefined) throw new UsageError(`--${unread}: does not apply to --${alone}; leave one of them out`);
}

function questionsOf(text: string | undefined, stack: boolean): readonly Question[] {
  const names = text?.split(',').map((name) => name.trim()) ?? QUESTIONS;
  for (const name of names) {
    if (QUESTIONS.includes(name as Question)) continue;
    throw new UsageError(
      `--only: expected some of ${QUESTIONS.join(', ')}, separated by commas, got ${name || 'nothing'}`,
    );
  }
  const questions = QUESTIONS.filter((question) => names.includes(question) && (stack || question !== 'stack'));
  if (questions.length > 0) return questions;
  throw new UsageError('--only: no question is left without the local stack; leave --no-stack out');
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new UsageError(`--${name}: expected a whole number above 0, got ${text}`);
}
