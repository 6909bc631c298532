import type { Command } from 'commander';
import type { Duration } from '../../core/duration.ts';
import { ALL_KEYS, type NewJob } from '../../core/enqueue/enqueue-options.ts';
import type { Enqueued } from '../../core/enqueue/insert-jobs.ts';
import { isTooEarly } from '../../core/enqueue/refusals.ts';
import { handlerName } from '../../core/handler/naming.ts';
import { otherWord } from '../../core/handler/other-words.ts';
import { closest } from '../../core/text.ts';
import { afterChange, isRefused } from '../backend/after-change.ts';
import type { Backend } from '../backend/backend.ts';
import { jobDocument } from '../backend/documents.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples, rewordErrors, withPayloadArgument, withQuotes } from '../options/action.ts';
import { duration, jobType as jobTypeOf, key, keyOrAll, time, timeOrDuration, whole } from '../options/values.ts';
import { toJson } from '../screen/json.ts';
import { print, printMessage, suggest, warn } from '../screen/terminal.ts';
import { checkPayload, readPayload } from './payload.ts';
import { findSimilar } from './similar-handlers.ts';
import { addUniqueOptions, checkUnique, type UniqueFlags, verdict } from './unique-options.ts';
import { hasSucceeded, watchJob } from './watch-job.ts';

interface EnqueueFlags extends UniqueFlags {
  readonly at?: Date;
  readonly in?: Duration;
  readonly startBy?: Date | Duration;
  readonly priority?: number;
  readonly maxAttempts?: number;
  readonly routingKey?: string;
  readonly groupKey?: string;
  readonly onDeadLetter?: string;
  readonly watch?: boolean;
}

/** `millrace enqueue` */
export function addEnqueue(program: Command): void {
  const command: Command = program.command('enqueue');
  rewordErrors(command, (text) => reword(command, text))
    .argument('<job_type>', 'the job type, such as send_reminder', jobTypeOf)
    .argument('[json]', 'the payload; - reads it from standard input', '{}')
    .description('insert a job and print its id')
    .option('--at <time>', 'earliest start, such as 2030-01-31T12:00:00Z; a date alone is midnight UTC', time)
    .option('--in <duration>', 'delay until the earliest start, such as 5m', duration)
    .option(
      '--start-by <when>',
      'skip the job if it has not started by this time, or within this duration after it becomes due',
      timeOrDuration,
    )
    .option('--priority <n>', '0 to 9, lower first; default 5', whole(0, 9))
    .option('--max-attempts <n>', 'maximum number of attempts', whole(1, 1000))
    .option(
      '--routing-key <key>',
      "the routing key of the handler; '*' inserts a job for each deployed handler of the job type",
      keyOrAll,
    )
    .option(
      '--group-key <key>',
      'share the handler fairly between jobs with different keys (the SQS message group)',
      key,
    )
    .option('--on-dead-letter <handler>', 'if the job becomes a dead letter, enqueue a job for this handler')
    .option(
      '--watch',
      "wait until the job ends; exit code 0 if it succeeded, 1 if it was skipped or cancelled, or is dead; not with --routing-key '*'",
    );
  addUniqueOptions(command)
    .addHelpText(
      'after',
      examples(
        `enqueue send_reminder '{"to": "ada@example.com", "subject": "Hello", "text": "A reminder"}'`,
        'enqueue send_reminder - --in 5m < payload.json',
        `enqueue index_record '{"id": 7}' --routing-key '*'`,
        `enqueue make_thumbnail '{"source": "https://…", "target": "https://…", "width": 200}' --watch`,
      ),
    )
    .action(action(runEnqueue));
}

function reword(command: Command, text: string): string {
  return withQuotes(withPayloadArgument(withOurOption(command, text)), `'{"id": 7}'`);
}

/** The names that the API and SQL have for the options of this command. */
const OTHER_NAMES = { delay: 'in', 'run-at': 'at' } as const;

/** Returns the error about an unknown option with the option that has its meaning here. */
function withOurOption({ options }: Command, text: string): string {
  const [first = ''] = text.split('\n');
  const [, given] = /^error: unknown option '--([\w-]+)'/.exec(first.replaceAll('_', '-')) ?? [];
  if (given === undefined) return text;
  const similar = closest(given, Object.keys(OTHER_NAMES));
  const names = [...options.map(({ long }) => `${long}`.slice(2)), ...Object.keys(OTHER_NAMES), 'payload'];
  const answer = similar === undefined ? otherWord(given, names) : `; did you mean ${similar}?`;
  return answer === '' ? text : `${first}${answer.replace(/(?<=did you mean )[\w-]+/, ourOption)}\n`;
}

function ourOption(name: string): string {
  if (name === 'payload') return 'the argument [json]';
  return `--${Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name as keyof typeof OTHER_NAMES] : name}`;
}

async function runEnqueue(
  options: EnqueueFlags & GlobalOptions,
  jobType: string,
  given: string,
  command: Command,
): Promise<number> {
  if (options.in !== undefined && options.at !== undefined) {
    throw new CommandFailure(EXIT.usage, 'use --in or --at, not both: each sets when the job may start');
  }
  checkStartBy(options);
  checkUnique(options);
  const address = { jobType, routingKey: options.routingKey ?? '' };
  const isForAll = address.routingKey === ALL_KEYS;
  if (isForAll && options.watch) {
    throw new CommandFailure(
      EXIT.usage,
      '--watch follows one job: without it, npx millrace jobs wait waits for several',
    );
  }
  const payload = await readPayload(given, command);
  await checkPayload(address, payload, options);
  const { at: runAt, in: delay, startBy, priority, maxAttempts, groupKey, onDeadLetter } = options;
  const { uniqueKey, uniqueBy, uniqueFor, uniqueUntil, onConflict } = options;
  const limits = { priority, maxAttempts, groupKey, onDeadLetter };
  const unique = { uniqueKey, uniqueBy, uniqueFor, uniqueUntil, onConflict };
  const job: NewJob = { ...address, payload, runAt, delay, startBy, ...limits, ...unique };
  if (isForAll) return withBackend(options, (backend) => enqueueAll(backend, job, options).catch(rewordTooEarly));
  return withBackend(options, async (backend) => {
    const enqueued = await backend.enqueue(job).catch(rewordTooEarly);
    if (!options.json) print(enqueued.id);
    if (enqueued.deduplicated) printMessage(`job ${enqueued.id} ${verdict(enqueued)}`);
    if ((await afterChange(backend.isHandled(enqueued.id))) === false) {
      const similar = (await afterChange(findSimilar(backend, address))) ?? '';
      warn(`no handler for ${handlerName(job)} is registered; the job waits${similar}`);
    }
    if (options.watch) return watch(backend, enqueued, options);
    if (options.json) print(toJson(enqueued));
    suggest(`npx millrace jobs show ${enqueued.id}`);
    return EXIT.done;
  });
}

/** Checks what requires no clock of the database. Without a run time, a time that has passed is accepted. */
function checkStartBy({ at, in: delay, startBy }: EnqueueFlags): void {
  if (!(startBy instanceof Date)) return;
  if (at !== undefined && startBy < at) {
    throw new CommandFailure(EXIT.usage, '--start-by is before --at: no attempt could start in time');
  }
  if (at === undefined && delay === undefined && startBy.getTime() < Date.now()) {
    warn('--start-by is in the past: the job will be skipped');
  }
}

function rewordTooEarly(error: unknown): never {
  if (!isTooEarly(error)) throw error;
  throw new CommandFailure(EXIT.usage, '--start-by is before the end of --in: no attempt could start in time');
}

/** Prints the ids of the jobs, in the order of their routing keys. */
async function enqueueAll(backend: Backend, job: NewJob, { json }: GlobalOptions): Promise<number> {
  const enqueued = await backend.enqueueAll(job);
  if (json) {
    const items = enqueued.map(({ routingKey, ...one }) => ({ ...one, routing_key: routingKey }));
    print(toJson({ items }));
  }
  for (const one of enqueued) {
    if (!json) print(one.id);
    const name = handlerName({ jobType: job.jobType, routingKey: one.routingKey });
    if (one.deduplicated) printMessage(`job ${one.id} of ${name} ${verdict(one)}`);
  }
  suggest(`npx millrace jobs list --job-type ${job.jobType}`);
  return EXIT.done;
}

async function watch(backend: Backend, enqueued: Enqueued, { json }: GlobalOptions): Promise<number> {
  const ended = await watchJob(backend, enqueued.id).catch((error: unknown) => {
    if (json) print(toJson(enqueued));
    if (!isRefused(error)) throw error;
    const reason = `job ${enqueued.id} was enqueued; following it requires the role millrace_operator`;
    throw new CommandFailure(EXIT.refused, reason, { cause: error });
  });
  if (json) print(toJson({ ...(ended && jobDocument(ended)), ...enqueued }));
  suggest(`npx millrace jobs show ${enqueued.id}`);
  return ended && hasSucceeded(ended) ? EXIT.done : EXIT.failed;
}
