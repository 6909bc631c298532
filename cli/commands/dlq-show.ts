import type { Command } from 'commander';
import { GROUP, GROUP_EXPECTED } from '../../core/dead-letters/find-group.ts';
import type { ShownGroup } from '../../core/dead-letters/group-dead-letters.ts';
import { isId } from '../../core/job.ts';
import type { Backend, SeenDeadLetter } from '../backend/backend.ts';
import { deadLetterDocument } from '../backend/documents.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { findGroup, shortGroup } from '../options/filter-options.ts';
import { group as groupValue, strayNumber } from '../options/values.ts';
import { type ExplainedJob, explainJobs, jobOf, standing } from '../redrive/named-jobs.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { print, printPairs, suggest } from '../screen/terminal.ts';
import { shownPayload } from './jobs-show.ts';

interface ShowOptions {
  readonly group?: string;
  readonly stray?: string;
}

/** `millrace dlq show` */
export function addDlqShow(dlq: Command): void {
  dlq
    .command('show')
    .argument(
      '[job or group]',
      'a job id, or at least the first 4 characters of a group; a number is first looked up as a job id',
    )
    .description('show one dead letter, or one group')
    .option('--group <group>', 'a group, even if it consists of digits only', groupValue)
    .option('--stray <number>', 'a message without a job (a stray), by its number in dlq list', strayNumber)
    .addHelpText('after', examples('dlq show 42', 'dlq show 7f3ac01b', 'dlq show --stray 3', 'dlq show 42 --json'))
    .action(
      action<ShowOptions>(async (options, given: string | undefined) => {
        const wanted = readWanted(given, options);
        await withBackend(options, (backend) => {
          return 'group' in wanted ? showGroup(backend, wanted.group, options) : printOne(backend, wanted, options);
        });
        return undefined;
      }),
    );
}

type Wanted = { readonly group: string } | { readonly jobId: string } | { readonly strayId: string };

/** Reads a decimal number that can be a job id as one, and any other beginning of a fingerprint as a group. */
function readWanted(given: string | undefined, { group, stray }: ShowOptions): Wanted {
  const asked = [given, group, stray].filter((one) => one !== undefined);
  if (asked.length !== 1) {
    throw new CommandFailure(EXIT.usage, 'expected one of a job id, a group, or --stray with a number');
  }
  if (group !== undefined) return { group };
  if (stray !== undefined) return { strayId: stray };
  const text = given ?? '';
  if (isId(text)) return { jobId: text };
  if (GROUP.test(text.toLowerCase())) return { group: text.toLowerCase() };
  throw new CommandFailure(EXIT.usage, `${text}: expected a job id such as 42, or ${GROUP_EXPECTED} such as 7f3ac01b`);
}

async function printOne(backend: Backend, wanted: Exclude<Wanted, { group: string }>, options: GlobalOptions) {
  const letter = await backend.showDeadLetter(wanted);
  if (letter === undefined) {
    if ('jobId' in wanted && (await isGroup(backend, wanted.jobId))) return showGroup(backend, wanted.jobId, options);
    throw await whyNot(backend, wanted);
  }
  if (options.json) print(toJson(deadLetterDocument(letter)));
  else show(letter);
}

/** Returns whether a number without a dead job is the beginning of a fingerprint. */
async function isGroup(backend: Backend, text: string): Promise<boolean> {
  return GROUP.test(text) && (await backend.findGroups(text)).length > 0;
}

async function whyNot(backend: Backend, wanted: { jobId: string } | { strayId: string }): Promise<CommandFailure> {
  if ('strayId' in wanted)
    return new CommandFailure(EXIT.notFound, `stray ${wanted.strayId} does not exist or is no longer open`);
  const [job] = await explainJobs(backend, [wanted.jobId]);
  const known = job as ExplainedJob;
  return new CommandFailure(
    known.status === null ? EXIT.notFound : EXIT.conflict,
    `job ${known.id} ${standing(known)}`,
  );
}

function show(letter: SeenDeadLetter): void {
  const { id, jobId: job, attempts, maxAttempts, payload } = letter;
  printPairs([
    job === null ? ['stray', id] : ['id', job],
    ['handler', jobOf(letter)],
    ['attempts', attempts === null ? null : `${attempts} of ${maxAttempts}`],
    ['created', letter.createdAt],
    ['died', letter.diedAt],
    ['group', shortGroup(letter.fingerprint)],
    ['error', letter.lastError],
    ['in the DLQ since', letter.firstSeenAt ?? 'not seen there yet'],
    ['last seen there', letter.lastSeenAt],
    ['queue', letter.queueName],
    ['message', letter.messageId],
    ['SQS deletes it', letter.messageExpiresAt],
    ['payload', payload === null && job !== null ? 'not shown: more than 1 MiB' : shownPayload(payload)],
    ['body', letter.rawBody],
    ['stack', letter.errorStacktrace],
  ]);
  if (job === null) suggest(`npx millrace dlq discard --stray ${id}`);
  else suggest(`npx millrace redrive --id ${job}`);
}

async function showGroup(backend: Backend, beginning: string, { json }: GlobalOptions): Promise<void> {
  const shown = await backend.showGroup(await findGroup(backend, beginning));
  if (shown === undefined) throw new CommandFailure(EXIT.notFound, `group ${beginning} has no dead letters left`);
  if (json) print(toJson({ group: shortGroup(shown.fingerprint), ...snakeCase(shown) }));
  else printGroup(shown);
}

function printGroup(shown: ShownGroup): void {
  printPairs([
    ['group', shown.fingerprint],
    ['dead letters', shown.jobs],
    ...shown.handlers.map(({ handler, jobs }) => ['handler', `${handler || '-'}: ${jobs}`] as const),
    ['first died', shown.firstDiedAt],
    ['last died', shown.lastDiedAt],
    ['newest', shown.samples.join(', ')],
    ['error', shown.lastError],
    ['stack', shown.errorStacktrace],
  ]);
  suggest(`npx millrace redrive --group ${shortGroup(shown.fingerprint)} --dry-run`);
}
