import type { Command } from 'commander';
import { handlerName } from '../../core/handler/naming.ts';
import type { ListedJob } from '../../core/look/page-jobs.ts';
import { withBackend } from '../backend/open.ts';
import { action, examples } from '../options/action.ts';
import { addJobFilterOptions, type JobFilterOptions, toJobFilter } from '../options/job-filter-options.ts';
import { whole } from '../options/values.ts';
import { snakeCase } from '../screen/json.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { firstLine, printMessage, printTable, suggest } from '../screen/terminal.ts';
import { explainNoMatch } from './similar-handlers.ts';

interface JobsOptions extends ListOptions, JobFilterOptions {
  readonly limit: number;
}

const HEADINGS = ['ID', 'HANDLER', 'STATUS', 'ATTEMPTS', 'CREATED', 'DUE', 'LAST ERROR'];

/** `millrace jobs list` */
export function addJobsList(jobs: Command): void {
  addJobFilterOptions(addJsonLines(jobs.command('list')))
    .description('list jobs, newest first')
    .option('--limit <n>', 'maximum number of jobs', whole(1, 10_000), 20)
    .addHelpText(
      'after',
      examples('jobs list', 'jobs list --status failed,dead_letter', 'jobs list --since 1h --jsonl'),
    )
    .action(
      action<JobsOptions>(async (options) => {
        const { jobType = [], since, limit } = options;
        const filter = toJobFilter(options);
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
