import { type Command, Option } from 'commander';
import type { Duration } from '../../core/duration.ts';
import { handlerName } from '../../core/handler/naming.ts';
import type { JobStatus } from '../../core/job.ts';
import type { ListedJob } from '../../core/look/list-jobs.ts';
import { withBackend } from '../backend/open.ts';
import { action, examples } from '../options/action.ts';
import { jobTypes, STATUSES, statuses, timeOrDuration, whole } from '../options/values.ts';
import { snakeCase } from '../screen/json.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { firstLine, printMessage, printRows, suggest } from '../screen/terminal.ts';

interface JobsOptions extends ListOptions {
  readonly status?: JobStatus[];
  readonly jobType?: string[];
  readonly since?: Date | Duration;
  readonly limit: number;
}

const HEADINGS = ['ID', 'HANDLER', 'STATUS', 'ATTEMPTS', 'CREATED', 'DUE', 'LAST ERROR'];

/** `millrace jobs list` */
export function addJobsList(jobs: Command): void {
  addJsonLines(jobs.command('list'))
    .description('list jobs, newest first')
    .addOption(
      new Option('--status <status>', 'only these statuses; separate with commas or repeat the option')
        .choices(STATUSES)
        .argParser(statuses),
    )
    .option('--job-type <type>', 'only these job types; separate with commas or repeat the option', jobTypes)
    .option(
      '--since <when>',
      'only those created at or after this time: a time such as 2026-01-31T12:00:00Z, or a duration such as 1h for ' +
        'the last hour',
      timeOrDuration,
    )
    .option('--limit <n>', 'maximum number of jobs', whole(1, 10_000), 20)
    .addHelpText(
      'before',
      examples('jobs list', 'jobs list --status failed,dead_letter', 'jobs list --since 1h --jsonl'),
    )
    .action(
      action<JobsOptions>(async (options) => {
        const { status = [], jobType = [], since, limit } = options;
        const filter = { statuses: status, jobTypes: jobType, since, limit };
        const found = await withBackend(options, (backend) => backend.listJobs(filter));
        printList(options, found.map(snakeCase), () => show(found, since !== undefined));
        return undefined;
      }),
    );
}

function show(jobs: readonly ListedJob[], isLimited: boolean): void {
  const [first] = jobs;
  if (first === undefined) {
    printMessage(isLimited ? 'no job that was created since then matches' : 'no job matches');
    return;
  }
  printRows(HEADINGS, jobs.map(toRow));
  suggest(`npx millrace jobs show ${first.id}`);
}

function toRow(job: ListedJob) {
  const attempts = `${job.attempts}/${job.maxAttempts}`;
  return [job.id, handlerName(job), job.status, attempts, job.createdAt, job.dueAt, firstLine(job.lastError)];
}
