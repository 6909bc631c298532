import type { Command } from 'commander';
import type { DeleteAnswer } from '../../core/jobs/delete.ts';
import { EXIT } from '../command-failure.ts';
import { addOperationOptions, type OperationOptions, runOperation } from '../operations/run-operation.ts';
import { action, examples } from '../options/action.ts';
import { choosesByFilter } from '../options/job-filter-options.ts';
import { jobIds } from '../options/values.ts';
import { confirm } from '../screen/confirm.ts';
import { actOnEach, type Failures } from './each-job.ts';

const FAILURES: Failures<DeleteAnswer> = {
  in_flight: [EXIT.conflict, 'is in flight: cancel it first'],
  busy: [EXIT.conflict, 'is locked by another transaction: try again'],
  not_found: [EXIT.notFound, 'does not exist'],
};

/** `millrace jobs delete` */
export function addJobsDelete(jobs: Command): void {
  addOperationOptions(jobs.command('delete').argument('[id...]', 'job ids, instead of a filter', jobIds))
    .description('delete waiting, dead or finished jobs with their attempts; the audit log records the deletion')
    .option('-y, --yes', 'skip the confirmation')
    .addHelpText(
      'after',
      examples('jobs delete 1', 'jobs delete 1 2 3 --yes', 'jobs delete --status succeeded --created-to 1d'),
    )
    .action(
      action<OperationOptions>(async (options, ids: string[] = []) => {
        if (choosesByFilter(options, ids)) return runOperation(options, 'delete');
        const wanted = new Set(ids);
        if (!options.yes) {
          const question = `Permanently delete ${wanted.size === 1 ? 'a job' : `${wanted.size} jobs`}?`;
          await confirm(question, { ...options, count: wanted.size });
        }
        return (await actOnEach(options, wanted, { act: (backend, id) => backend.deleteJob(id), failures: FAILURES }))
          .code;
      }),
    );
}
