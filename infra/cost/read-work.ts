import { parseArgs } from 'node:util';
import { secondsOfText } from '../../core/duration.ts';
import { SettingError } from '../../core/errors.ts';
import type { Work } from './job-prices.ts';
import { STAGES, type StageKind } from './stage-price.ts';

/** What `npm run cost` computes and prints. */
export interface CostOptions extends Work {
  readonly stage: StageKind;
  readonly handlers: number;
  readonly format: 'text' | 'json' | 'markdown';
}

const FORMATS = { json: 'one JSON object', markdown: 'the tables of the documentation' };

/** The options with their defaults, and their meanings in the order of the help. */
export const COST_OPTIONS = {
  jobs: ['1e6', 'jobs a month'],
  duration: ['200ms', 'time that a job runs'],
  batch: ['10', 'jobs in a batch of the handler, on average'],
  'send-batch': ['', 'messages sent at once; default: as --batch, at most 10'],
  mode: ['auto', 'how the dispatcher runs: auto, loop or tick'],
  'active-hours': ['24', 'hours of a day in which there are jobs'],
  memory: ['256', 'memory of the handler, in MB'],
  work: ['waits', 'waits: jobs of a batch overlap; computes: they do not'],
  overhead: ['30ms', 'time of an invocation before and after its jobs'],
  failing: ['0%', 'share of the attempts that fail'],
  attempts: ['5', 'attempts after which a job is dead'],
  door: ['sql', 'how jobs are enqueued: sql, or api for the HTTP API'],
  'per-request': ['1', 'jobs in one request to the API'],
  stage: ['dev', `kind of the stage: ${Object.keys(STAGES).join(', ')}`],
  handlers: ['2', 'number of handlers'],
} as const satisfies Record<string, readonly [string, string]>;

type Name = keyof typeof COST_OPTIONS;

const MOST_JOBS = 1e9;
/** A function runs for at most 15 minutes, and Millrace keeps a minute of them. */
const LONGEST_SECONDS = 840;
const LONGEST_OVERHEAD = 60;
const MOST_MEMORY = [128, 10_240] as const;
const MOST_BATCH = 10_000;
const MOST_SENT = 10;
const MOST_ATTEMPTS = 100;
const MOST_PER_REQUEST = 1000;
const MOST_HANDLERS = 1000;

/** Returns the help: one line for each option. */
export function costHelp(): string {
  const lines = Object.entries(COST_OPTIONS).map(([name, [usual, meaning]]) => {
    return `  --${`${name} ${usual}`.padEnd(18)} ${meaning}`;
  });
  const formats = Object.entries(FORMATS).map(([name, meaning]) => `  --${name.padEnd(18)} print ${meaning}`);
  return ['npm run cost -- [options], with their defaults:', '', ...lines, ...formats, ''].join('\n');
}

/**
 * Reads the arguments of `npm run cost`; undefined for `--help`.
 * @throws SettingError that names the option, what it expects and what it got
 */
export function readWork(args: readonly string[]): CostOptions | undefined {
  const values = parse(args);
  if (values.help === true) return undefined;
  const text = (name: Name) => String(values[name] ?? COST_OPTIONS[name][0]).trim();
  const durationSeconds = secondsOf('duration', text('duration'), LONGEST_SECONDS);
  const kind = choiceOf('work', text('work'), ['waits', 'computes']);
  const batch = batchOf(text('batch'), kind === 'computes' ? durationSeconds : 0);
  const sent = text('send-batch');
  return {
    jobs: wholeOf('jobs', text('jobs'), [1, MOST_JOBS]),
    ...{ durationSeconds, kind, batch },
    sendBatch: sent === '' ? Math.min(batch, MOST_SENT) : numberOf('send-batch', sent, [1, MOST_SENT]),
    mode: choiceOf('mode', text('mode'), ['auto', 'loop', 'tick']),
    activeHours: hoursOf(text('active-hours')),
    memoryMb: wholeOf('memory', text('memory'), MOST_MEMORY),
    overheadSeconds: secondsOf('overhead', text('overhead'), LONGEST_OVERHEAD),
    failing: shareOf(text('failing')),
    maxAttempts: wholeOf('attempts', text('attempts'), [1, MOST_ATTEMPTS]),
    door: choiceOf('door', text('door'), ['sql', 'api']),
    perRequest: numberOf('per-request', text('per-request'), [1, MOST_PER_REQUEST]),
    stage: choiceOf('stage', text('stage'), Object.keys(STAGES) as StageKind[]),
    handlers: wholeOf('handlers', text('handlers'), [1, MOST_HANDLERS]),
    format: values.json ? 'json' : values.markdown ? 'markdown' : 'text',
  };
}

function parse(args: readonly string[]): Readonly<Record<string, string | boolean | undefined>> {
  const names = Object.keys(COST_OPTIONS);
  const flags = ['help', ...Object.keys(FORMATS)];
  const options = Object.fromEntries([
    ...names.map((name) => [name, { type: 'string' }] as const),
    ...flags.map((name) => [name, { type: 'boolean' }] as const),
  ]);
  try {
    return parseArgs({ args: [...args], options, strict: true }).values as Record<string, string | boolean>;
  } catch (error) {
    throw toFault(error as Error & { code?: string }, args, [...names, ...flags]);
  }
}

function toFault({ code, message }: Error & { code?: string }, args: readonly string[], names: readonly string[]) {
  const known = names.map((name) => `--${name}`).join(', ');
  const [, option = 'option'] = /'(-[^' =<]+)/.exec(message) ?? [];
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return new SettingError('option', `one of ${known}`, option);
  if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
    const expected = option.slice(2) in COST_OPTIONS ? 'a value' : 'no value';
    const got = args.find((one) => one.startsWith(option));
    return new SettingError(option, expected, got);
  }
  const got = /'(.*?)'/.exec(message)?.[1] ?? args.join(' ');
  return new SettingError('arguments', `options such as ${known}`, got);
}

function numberOf(name: string, text: string, [least, most]: readonly [number, number]): number {
  const value = /^\d+(\.\d+)?(e\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SettingError(`--${name}`, `a number from ${least} to ${most}`, text);
}

/** Returns the size of a batch whose jobs run for `seconds` one after another. */
function batchOf(text: string, seconds: number): number {
  const batch = numberOf('batch', text, [1, MOST_BATCH]);
  if (batch * seconds <= LONGEST_SECONDS) return batch;
  const most = Math.floor(LONGEST_SECONDS / seconds);
  throw new SettingError('--batch', `at most ${most} jobs of ${seconds}s, since --work is computes`, text);
}

function wholeOf(name: string, text: string, [least, most]: readonly [number, number]): number {
  const value = /^\d+(\.\d+)?(e\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new SettingError(`--${name}`, `a whole number from ${least} to ${most}`, text);
}

function secondsOf(name: string, text: string, most: number): number {
  const value = secondsOfText(text, `--${name}`);
  if (value <= most) return value;
  throw new SettingError(`--${name}`, `a duration of at most ${most}s`, text);
}

function hoursOf(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0 && value <= 24) return value;
  throw new SettingError('--active-hours', 'hours of a day, above 0 and at most 24', text);
}

function shareOf(text: string): number {
  const [, digits = '', percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  const value = digits === '' ? Number.NaN : Number(digits) / (percent ? 100 : 1);
  if (value >= 0 && value < 1) return value;
  throw new SettingError('--failing', 'a share below 100%, such as 5% or 0.05', text);
}

function choiceOf<Choice extends string>(name: string, text: string, choices: readonly Choice[]): Choice {
  const found = choices.find((one) => one === text);
  if (found !== undefined) return found;
  throw new SettingError(`--${name}`, `one of ${choices.join(', ')}`, text);
}
