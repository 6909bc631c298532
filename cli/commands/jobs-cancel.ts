import type { Command } from 'commander';
import type { CancelAnswer } from '../../core/jobs/cancel.ts';
import { EXIT } from '../command-failure.ts';
import { addOperationOptions, type OperationOptions, runOperation } from '../operations/run-operation.ts';
import { action, examples } from '../options/action.ts';
import { choosesByFilter } from '../options/job-filter-options.ts';
import { jobIds } from '../options/values.ts';
import { confirm } from '../screen/confirm.ts';
import { suggest } from '../screen/terminal.ts';
import { actOnEach, type Failures } from './each-job.ts';

const FAILURES: Failures<CancelAnswer> = {
  finished: [EXIT.conflict, 'has already finished'],
  not_found: [EXIT.notFound, 'does not exist'],
};

/** `millrace jobs cancel` */
export function addJobsCancel(jobs: Command): void {
  addOperationOptions(jobs.command('cancel').argument('[id...]', 'job ids, instead of a filter', jobIds))
    .description('cancel waiting, dispatched, running or dead jobs, and the children of a job that have not started')
    .option('-y, --yes', 'skip the confirmation for several jobs')
    .addHelpText(
      'after',
      examples('jobs cancel 1', 'jobs cancel 1 2 3 --yes', 'jobs cancel --job-type send_reminder --dry-run'),
    )
    .action(
      action<OperationOptions>(async (options, ids: string[] = []) => {
        if (choosesByFilter(options, ids)) return runOperation(options, 'cancel');
        if (ids.length > 1 && !options.yes) await confirm(`Cancel ${ids.length} jobs?`, options);
        const { answers, code } = await actOnEach(options, new Set(ids), {
          act: (backend, id) => backend.cancel(id),
          failures: FAILURES,
        });
        for (const { id, answer } of answers) if (answer === 'requested') suggest(`npx millrace jobs show ${id}`);
        return code;
      }),
    );
}
