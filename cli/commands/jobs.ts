import type { Command } from 'commander';
import { examples } from '../options/action.ts';
import { addJobsCancel } from './jobs-cancel.ts';
import { addJobsDelete } from './jobs-delete.ts';
import { addJobsList } from './jobs-list.ts';
import { addJobsReschedule } from './jobs-reschedule.ts';
import { addJobsRetry } from './jobs-retry.ts';
import { addJobsShow } from './jobs-show.ts';
import { addJobsWait } from './jobs-wait.ts';

/** `millrace jobs list | show | wait | retry | cancel | delete | reschedule` */
export function addJobs(program: Command): void {
  const jobs = program.command('jobs').description('list, show, wait for, retry, cancel, delete or reschedule jobs');
  jobs.addHelpText('after', examples('jobs list', 'jobs show 1', 'jobs cancel 1'));
  for (const add of [
    addJobsList,
    addJobsShow,
    addJobsWait,
    addJobsRetry,
    addJobsCancel,
    addJobsDelete,
    addJobsReschedule,
  ])
    add(jobs);
}
