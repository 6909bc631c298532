import type { Command } from 'commander';
import type { RetryAnswer } from '../../core/jobs/redrive.ts';
import { EXIT } from '../command-failure.ts';
import { addOperationOptions, type OperationOptions, runOperation } from '../operations/run-operation.ts';
import { action, examples } from '../options/action.ts';
import { choosesByFilter } from '../options/job-filter-options.ts';
import { jobIds } from '../options/values.ts';
import { confirm } from '../screen/confirm.ts';
import { suggest } from '../screen/terminal.ts';
import { actOnEach, type Failures } from './each-job.ts';

const FAILURES: Failures<RetryAnswer> = {
  busy: [EXIT.conflict, 'is locked by another transaction: try again'],
  not_dead: [EXIT.conflict, 'is neither dead nor waiting for its next attempt'],
  not_found: [EXIT.notFound, 'does not exist'],
};

/** `millrace jobs retry` */
export function addJobsRetry(jobs: Command): void {
  addOperationOptions(jobs.command('retry').argument('[id...]', 'job ids, instead of a filter', jobIds))
    .description('retry jobs now: dead jobs get fresh attempts, failed jobs skip their backoff')
    .option('-y, --yes', 'skip the confirmation for several jobs')
    .addHelpText(
      'after',
      examples('jobs retry 1', 'jobs retry 1 2 3 --yes', "jobs retry --error 'connection refused' --dry-run"),
    )
    .action(
      action<OperationOptions>(async (options, ids: string[] = []) => {
        if (choosesByFilter(options, ids)) return runOperation(options, 'retry');
        const wanted = new Set(ids);
        if (wanted.size > 1 && !options.yes) await confirm(`Retry ${wanted.size} jobs?`, options);
        const { answers, code } = await actOnEach(options, wanted, {
          act: (backend, id) => backend.retry(id),
          failures: FAILURES,
        });
        const moved = answers.find(({ answer }) => FAILURES[answer] === undefined);
        if (moved) suggest(`npx millrace jobs show ${moved.id}`);
        return code;
      }),
    );
}
