import type { Command } from 'commander';
import { examples } from '../action.ts';
import { addJobsCancel } from './jobs-cancel.ts';
import { addJobsList } from './jobs-list.ts';
import { addJobsRetry } from './jobs-retry.ts';
import { addJobsShow } from './jobs-show.ts';

/** `millrace jobs list | show | retry | cancel` */
export function addJobs(program: Command): void {
  const jobs = program.command('jobs').description('list, show, retry or cancel jobs');
  jobs.addHelpText('before', examples('jobs list', 'jobs show 1', 'jobs cancel 1'));
  for (const add of [addJobsList, addJobsShow, addJobsRetry, addJobsCancel]) add(jobs);
}
