import type { Command } from 'commander';
import { type DeleteAnswer, deleteJob } from '../../core/jobs/delete-job.ts';
import { action, examples } from '../action.ts';
import { confirm } from '../confirm.ts';
import { EXIT, type ExitCode, exitCodeOf } from '../exit-code.ts';
import { toJson } from '../json.ts';
import { withDatabase } from '../target.ts';
import { print, printRows, sayError } from '../terminal.ts';
import { jobIds } from '../values.ts';

const FAILURES: Partial<Readonly<Record<DeleteAnswer, readonly [ExitCode, string]>>> = {
  in_flight: [EXIT.conflict, 'is in the hands of its handler: cancel it first'],
  busy: [EXIT.conflict, 'is in use by somebody at this moment: try again'],
  not_found: [EXIT.notFound, 'does not exist'],
};

/** `millrace jobs delete` */
export function addJobsDelete(jobs: Command): void {
  jobs
    .command('delete')
    .argument('<id...>', 'ids of jobs', jobIds)
    .description('delete jobs that wait, are dead or have finished, with their attempts; an audit line stays')
    .option('-y, --yes', 'do not ask')
    .addHelpText('before', examples('jobs delete 1', 'jobs delete 1 2 3 --yes'))
    .action(
      action<{ yes?: boolean }>(async (options, ids: string[]) => {
        const wanted = new Set(ids);
        if (!options.yes) {
          const question = `Delete ${wanted.size === 1 ? 'a job' : `${wanted.size} jobs`} for ever?`;
          await confirm(question, { ...options, count: wanted.size });
        }
        const answers = await withDatabase(options, async (db) => {
          const done: { id: string; answer: DeleteAnswer }[] = [];
          for (const id of wanted) done.push({ id, answer: await deleteJob(db, id) });
          return done;
        });
        if (options.json) print(toJson(answers));
        else
          printRows(
            ['ID', 'ANSWER'],
            answers.map(({ id, answer }) => [id, answer]),
          );
        for (const { id, answer } of answers) if (FAILURES[answer]) sayError(`job ${id} ${FAILURES[answer][1]}`);
        return exitCodeOf(answers.map(({ answer }) => FAILURES[answer]?.[0] ?? EXIT.done));
      }),
    );
}
