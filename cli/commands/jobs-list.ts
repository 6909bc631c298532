import { type Command, Option } from 'commander';
import type { Duration } from '../../core/duration.ts';
import { handlerName } from '../../core/handler/naming.ts';
import type { JobStatus } from '../../core/job.ts';
import { STATUSES } from '../../core/job.ts';
import type { JobFilter, ListedJob } from '../../core/look/page-jobs.ts';
import { withBackend } from '../backend/open.ts';
import { action, examples } from '../options/action.ts';
import { addAddressOptions, addTimeOptions } from '../options/filter-options.ts';
import { errorPart, key, statuses, whole } from '../options/values.ts';
import { snakeCase } from '../screen/json.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { firstLine, printMessage, printTable, suggest } from '../screen/terminal.ts';
import { explainNoMatch } from './similar-handlers.ts';

interface JobsOptions extends ListOptions {
  readonly status?: JobStatus[];
  readonly jobType?: string[];
  readonly routingKey?: string;
  readonly uniqueKey?: string;
  readonly error?: string;
  readonly since?: Date | Duration;
  readonly createdTo?: Date | Duration;
  readonly limit: number;
}

const HEADINGS = ['ID', 'HANDLER', 'STATUS', 'ATTEMPTS', 'CREATED', 'DUE', 'LAST ERROR'];

/** `millrace jobs list` */
export function addJobsList(jobs: Command): void {
  addTimeOptions(addAddressOptions(addJsonLines(jobs.command('list'))), 'were created', '--created-to')
    .description('list jobs, newest first')
    .addOption(
      new Option('--status <status>', 'only these statuses; separate with commas or repeat the option')
        .choices(STATUSES)
        .argParser(statuses),
    )
    .option('--unique-key <key>', 'only the jobs with this unique key', key)
    .option('--error <text>', 'only jobs whose last error contains this text, ignoring case', errorPart)
    .option('--limit <n>', 'maximum number of jobs', whole(1, 10_000), 20)
    .addHelpText(
      'after',
      examples('jobs list', 'jobs list --status failed,dead_letter', 'jobs list --since 1h --jsonl'),
    )
    .action(
      action<JobsOptions>(async (options) => {
        const { status = [], jobType = [], routingKey, uniqueKey, error, since, createdTo, limit } = options;
        const filter: JobFilter = {
          ...{ statuses: status, jobTypes: jobType, routingKey, uniqueKey, error, createdFrom: since, createdTo },
        };
        const { found, reason } = await withBackend(options, async (backend) => {
          const listed = await backend.listJobs(filter, limit);
          return { found: listed, reason: listed[0] ? '' : await explainNoMatch(backend, jobType) };
        });
        const nothing = `no job ${since === undefined ? '' : 'that was created at the given time or later '}matches`;
        printList(options, found.map(snakeCase), () => show(found, `${nothing}${reason}`));
        return undefined;
      }),
    );
}

function show(jobs: readonly ListedJob[], nothing: string): void {
  const [first] = jobs;
  if (first === undefined) {
    printMessage(nothing);
    return;
  }
  printTable(HEADINGS, jobs.map(toRow));
  suggest(`npx millrace jobs show ${first.id}`);
}

function toRow(job: ListedJob) {
  const attempts = `${job.attempts}/${job.maxAttempts}`;
  return [job.id, handlerName(job), job.status, attempts, job.createdAt, job.dueAt, firstLine(job.lastError)];
}
