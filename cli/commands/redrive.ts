import type { Command } from 'commander';
import type { DeadLetterFilter } from '../../core/dead-letters/filter.ts';
import type { PinnedFilter } from '../../core/dead-letters/list-dead-letters.ts';
import type { Backend } from '../backend/backend.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT, type ExitCode } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import {
  addFilterOptions,
  type FilterOptions,
  pinFilter,
  QUEUE_CHOICES,
  requireChoice,
  toFilter,
} from '../options/filter-options.ts';
import { jobIds, rate as rateValue, whole } from '../options/values.ts';
import { reportSkipped, skippedDocument } from '../redrive/named-jobs.ts';
import {
  estimate,
  previewDocument,
  previewTables,
  type RedrivePreview,
  readPreview,
  remarks,
  whyNot,
} from '../redrive/preview.ts';
import { runRedrive } from '../redrive/run-redrive.ts';
import { confirm } from '../screen/confirm.ts';
import { toJson } from '../screen/json.ts';
import { count, counted } from '../screen/progress.ts';
import { print, printHint, printMessage, printRowsToStderr, printTable, suggest, warn } from '../screen/terminal.ts';
import { explainNoMatch } from './similar-handlers.ts';

interface RedriveOptions extends FilterOptions {
  readonly all?: boolean;
  readonly limit?: number;
  readonly rate?: number;
  readonly viaSqs?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}
type Options = RedriveOptions & GlobalOptions;

const MORE_HELP = `
With --rate, and over the API, the dispatcher moves the jobs: it wakes up within two minutes if it is idle, and after an
interruption it catches up by at most five seconds' worth of jobs. Otherwise this command moves them, as fast as
possible. Ctrl-C cancels the redrive; jobs already moved are not moved back. If this command dies, the dispatcher
continues the redrive; to stop it, run npx millrace redrives cancel with its number. With --via-sqs, one move task
per queue moves all its messages; the task fails at a message that was sent to the dead-letter queue directly. --via-sqs
accepts only --job-type, --routing-key, --all and a --rate of 1 to 500. It uses the SQS of the running stack or of the
AWS environment, and the queue names in the database. Exit code 1 means that some of the named jobs were not moved, 5
that none could be moved.`;

/** `millrace redrive` */
export function addRedrive(program: Command): void {
  addFilterOptions(program.command('redrive').argument('[id...]', 'job ids', jobIds))
    .description('make dead jobs pending again, with fresh attempts')
    .option('--all', 'every dead letter')
    .option('--limit <n>', 'maximum number of jobs', whole(1, 1_000_000_000))
    .option('--rate <n/s>', 'jobs per second, such as 50/s or 0.5/s; default unlimited', rateValue)
    .option('--via-sqs', 'make SQS move the messages in the dead-letter queues, as the AWS console does')
    .option('--dry-run', 'show what would be moved, and move nothing')
    .option('-y, --yes', 'skip the confirmation')
    .addHelpText(
      'after',
      examples(
        'redrive 42',
        'redrive --job-type send_reminder --since 1h --dry-run',
        "redrive --error 'connection refused' --rate 50/s",
        'redrive --all --yes --json',
      ),
    )
    .addHelpText('after', MORE_HELP)
    .action(
      action<RedriveOptions>(async (options, ids: string[] = []) => {
        const filter = toFilter(options, ids);
        requireChoice(filter, options.all, options.viaSqs ? QUEUE_CHOICES : undefined);
        if (options.viaSqs) return viaSqs(filter, options);
        return withBackend(options, (backend) => redrive(backend, filter, options));
      }),
    );
}

async function viaSqs(filter: DeadLetterFilter, options: Options): Promise<ExitCode> {
  // Loaded here: it imports the SQS client.
  const { redriveViaSqs } = await import('../redrive/via-sqs.ts');
  return redriveViaSqs(filter, options);
}

async function redrive(backend: Backend, given: DeadLetterFilter, options: Options): Promise<ExitCode> {
  const { limit, rate, json = false } = options;
  const filter = await pinFilter(backend, given);
  const preview = await readPreview(backend, { filter, limit, rate });
  if (options.dryRun) tellPreview(preview, filter, json);
  if (preview.movable === 0) return refuse(backend, filter, { preview, options });
  for (const line of [...whyNot(preview), ...remarks(preview)]) warn(line);
  if (options.dryRun) return reportSkipped(preview.skipped, preview.movable);
  if (!options.yes) {
    if (!json) for (const { headings, rows } of previewTables(preview)) printRowsToStderr(headings, rows);
    await confirm(`Make ${counted(preview.movable, 'dead job')} pending again${estimate(preview)}?`, {
      json,
      count: preview.movable,
    });
  }
  return runRedrive(backend, { filter, limit, rate, json });
}

/** Prints the preview to standard output, since it is the result of the command. */
function tellPreview(preview: RedrivePreview, { since, until }: PinnedFilter, json: boolean): void {
  if (json) {
    print(toJson(previewDocument(preview)));
    return;
  }
  for (const { headings, rows } of previewTables(preview)) if (rows.length > 0) printTable(headings, rows);
  printMessage(
    `${counted(preview.matched, 'dead letter')} found, ${count(preview.movable)} would be moved${estimate(preview)}`,
  );
  const from = since && ` from ${since.toISOString()}${until ? '' : ' on'}`;
  const to = until && ` ${since ? 'to' : 'until'} ${until.toISOString()}`;
  if (from || to) printMessage(`of jobs that died${from ?? ''}${to ?? ''}`);
  if (preview.movable > 0) printHint('Nothing was moved: run without --dry-run to move them.');
}

interface Refused {
  readonly preview: RedrivePreview;
  readonly options: Options;
}

/** Explains why nothing can be moved, and returns the exit code. */
async function refuse(backend: Backend, { jobTypes }: PinnedFilter, { preview, options }: Refused): Promise<ExitCode> {
  const { json, dryRun } = options;
  const { matched, skipped } = preview;
  if (json && !dryRun) {
    print(toJson({ redrive: null, moved: 0, skipped: skipped.length, skipped_jobs: skippedDocument(skipped) }));
  }
  if (skipped.length > 0) {
    if (!json) printMessage(`0 moved, ${skipped.length} skipped`);
    return reportSkipped(skipped, 0);
  }
  suggest('npx millrace dlq');
  if (matched === 0) {
    throw new CommandFailure(EXIT.notFound, `no dead letter matches${await explainNoMatch(backend, jobTypes)}`);
  }
  throw new CommandFailure(
    EXIT.conflict,
    ['none of the matching dead letters can be moved:', ...whyNot(preview)].join('\n  '),
  );
}
