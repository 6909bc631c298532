import type { Command } from 'commander';
import { type CancelAnswer, cancel } from '../../core/jobs/cancel.ts';
import { action, examples } from '../action.ts';
import { confirm } from '../confirm.ts';
import { EXIT, type ExitCode, exitCodeOf } from '../exit-code.ts';
import { toJson } from '../json.ts';
import { explainFailures } from '../named-jobs.ts';
import { withDatabase } from '../target.ts';
import { print, printRows, sayError, suggest } from '../terminal.ts';
import { jobIds } from '../values.ts';

interface Cancelled {
  readonly id: string;
  readonly answer: CancelAnswer;
}

const MEANING: Readonly<Record<CancelAnswer, string>> = {
  cancelled: 'is cancelled',
  requested: 'is in the hands of its handler, and is cancelled as soon as that lets go of it',
  finished: 'has finished already',
  not_found: 'does not exist',
};
const FAILURES: Partial<Readonly<Record<CancelAnswer, ExitCode>>> = {
  finished: EXIT.conflict,
  not_found: EXIT.notFound,
};

/** `millrace jobs cancel` */
export function addJobsCancel(jobs: Command): void {
  jobs
    .command('cancel')
    .argument('<id...>', 'ids of jobs', jobIds)
    .description('cancel jobs that wait, run or are dead')
    .option('-y, --yes', 'do not ask when there are several')
    .addHelpText('before', examples('jobs cancel 1', 'jobs cancel 1 2 3 --yes'))
    .action(
      action<{ yes?: boolean }>(async (options, ids: string[]) => {
        if (ids.length > 1 && !options.yes) await confirm(`Cancel ${ids.length} jobs?`, options);
        const { answers, reasons } = await withDatabase(options, async (db) => {
          const done: Cancelled[] = [];
          for (const id of new Set(ids)) done.push({ id, answer: await cancel(db, id) });
          const failed = done.filter(({ answer }) => FAILURES[answer] !== undefined);
          return {
            answers: done,
            reasons: await explainFailures(
              db,
              failed.map(({ id }) => id),
            ),
          };
        });
        if (options.json) print(toJson(answers));
        else
          printRows(
            ['ID', 'ANSWER'],
            answers.map(({ id, answer }) => [id, answer]),
          );
        return report(answers, reasons);
      }),
    );
}

function report(answers: readonly Cancelled[], reasons: ReadonlyMap<string, string>): ExitCode {
  const failed = answers.filter(({ answer }) => FAILURES[answer] !== undefined);
  for (const { id, answer } of failed) sayError(`job ${id} ${reasons.get(id) ?? MEANING[answer]}`);
  for (const { id, answer } of answers) if (answer === 'requested') suggest(`npx millrace jobs show ${id}`);
  return exitCodeOf(answers.map(({ answer }) => FAILURES[answer] ?? EXIT.done));
}
