import type { Command } from 'commander';
import { type RetryAnswer, retry } from '../../core/jobs/retry.ts';
import { action, examples } from '../action.ts';
import { confirm } from '../confirm.ts';
import { EXIT, type ExitCode, exitCodeOf } from '../exit-code.ts';
import { toJson } from '../json.ts';
import { explainFailures } from '../named-jobs.ts';
import { withDatabase } from '../target.ts';
import { print, printRows, sayError, suggest } from '../terminal.ts';
import { jobIds } from '../values.ts';

interface Retried {
  readonly id: string;
  readonly answer: RetryAnswer;
}

const MEANING: Readonly<Record<RetryAnswer, string>> = {
  redriven: 'is pending with fresh attempts',
  due: 'is due now',
  busy: 'is in use by somebody at this moment: try again',
  not_dead: 'is neither dead nor waiting for its next attempt',
  not_found: 'does not exist',
};
const FAILURES: Partial<Readonly<Record<RetryAnswer, ExitCode>>> = {
  busy: EXIT.conflict,
  not_dead: EXIT.conflict,
  not_found: EXIT.notFound,
};

/** `millrace jobs retry` */
export function addJobsRetry(jobs: Command): void {
  jobs
    .command('retry')
    .argument('<id...>', 'ids of jobs', jobIds)
    .description('try jobs again now: dead ones with fresh attempts, failed ones without their wait')
    .option('-y, --yes', 'do not ask when there are several')
    .addHelpText('before', examples('jobs retry 1', 'jobs retry 1 2 3 --yes'))
    .action(
      action<{ yes?: boolean }>(async (options, ids: string[]) => {
        const wanted = new Set(ids);
        if (wanted.size > 1 && !options.yes) await confirm(`Try ${wanted.size} jobs again?`, options);
        const { answers, reasons } = await withDatabase(options, async (db) => {
          const done: Retried[] = [];
          for (const id of wanted) done.push({ id, answer: await retry(db, id) });
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

function report(answers: readonly Retried[], reasons: ReadonlyMap<string, string>): ExitCode {
  const failed = answers.filter(({ answer }) => FAILURES[answer] !== undefined);
  for (const { id, answer } of failed) sayError(`job ${id} ${reasons.get(id) ?? MEANING[answer]}`);
  const moved = answers.find((one) => !failed.includes(one));
  if (moved) suggest(`npx millrace jobs show ${moved.id}`);
  return exitCodeOf(answers.map(({ answer }) => FAILURES[answer] ?? EXIT.done));
}
