import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Duration, seconds } from '../../core/duration.ts';
import type { JobStatus } from '../../core/job.ts';
import type { Backend, SeenJob } from '../backend/backend.ts';
import { jobDocument } from '../backend/documents.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { duration, jobIds } from '../options/values.ts';
import { toJson } from '../screen/json.ts';
import { print, printMessage, printRows, suggest } from '../screen/terminal.ts';
import { hasEnded, hasSucceeded, printEnd, printReason } from './watch-job.ts';

const POLL_MS = 250;

/** `millrace jobs wait` */
export function addJobsWait(jobs: Command): void {
  jobs
    .command('wait')
    .argument('<id...>', 'job ids', jobIds)
    .description(
      'wait until every job has ended; exit code 0 if all succeeded, 1 if any was skipped or cancelled, or is dead, 8 after ' +
        'the timeout',
    )
    .option('--timeout <duration>', 'maximum wait', duration, '5m')
    .addHelpText('after', examples('jobs wait 1', 'jobs wait 1 2 3', 'jobs wait 1 --timeout 30s --json'))
    .action(
      action<{ timeout: Duration }>(async (options, ids: string[]) => {
        const end = performance.now() + seconds(options.timeout, 'timeout') * 1000;
        const unique = [...new Set(ids)];
        const found = await withBackend(options, async (backend) => {
          const ended: SeenJob[] = [];
          for (const id of unique) ended.push(await untilEnd(backend, id, end));
          return ended;
        });
        printAnswer(found, options);
        for (const one of found) {
          printEnd(one);
          if (!hasEnded(one)) printMessage(`job ${one.job.id} is still ${one.job.status} after ${options.timeout}`);
        }
        const unsuccessful = found.find((one) => !hasSucceeded(one));
        if (unsuccessful === undefined) return EXIT.done;
        suggest(`npx millrace jobs show ${unsuccessful.job.id}`);
        return found.every(hasEnded) ? EXIT.failed : EXIT.checkFailed;
      }),
    );
}

/** Prints the status of one job, or a row for each of several. */
function printAnswer(found: readonly SeenJob[], { json }: GlobalOptions): void {
  const [first, ...others] = found;
  if (first === undefined) return;
  const isOne = others.length === 0;
  if (json) print(toJson(isOne ? jobDocument(first) : { items: found.map(jobDocument) }));
  else if (isOne) print(first.job.status);
  else
    printRows(
      ['ID', 'STATUS'],
      found.map(({ job }) => [job.id, job.status]),
    );
}

/** @param end time of `performance.now` at which the wait ends. */
async function untilEnd(backend: Backend, id: string, end: number): Promise<SeenJob> {
  let status: JobStatus | undefined;
  for (;;) {
    const shown = await backend.showJob(id);
    if (shown === undefined) throw new CommandFailure(EXIT.notFound, `job ${id} does not exist`);
    if (hasEnded(shown) || performance.now() >= end) return shown;
    if (shown.job.status !== status) printReason(shown);
    status = shown.job.status;
    await wait(POLL_MS);
  }
}
