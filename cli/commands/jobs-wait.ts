import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Duration, seconds } from '../../core/duration.ts';
import type { Backend, SeenJob } from '../backend/backend.ts';
import { jobDocument } from '../backend/documents.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { action, examples } from '../options/action.ts';
import { duration, jobId } from '../options/values.ts';
import { toJson } from '../screen/json.ts';
import { print, suggest } from '../screen/terminal.ts';

const POLL_MS = 250;

/** `millrace jobs wait` */
export function addJobsWait(jobs: Command): void {
  jobs
    .command('wait')
    .argument('<id>', 'the job id', jobId)
    .description('wait until a job ends; exit code 0 if it succeeded, 1 if it ended otherwise, 8 after the timeout')
    .option('--timeout <duration>', 'maximum wait', duration, '5m')
    .addHelpText('after', examples('jobs wait 1', 'jobs wait 1 --timeout 30s --json'))
    .action(
      action<{ timeout: Duration }>(async (options, id: string) => {
        const shown = await withBackend(options, (backend) =>
          untilEnd(backend, id, seconds(options.timeout, 'timeout')),
        );
        const { status } = shown.job;
        if (options.json) print(toJson(jobDocument(shown)));
        else print(status);
        if (status === 'succeeded') return EXIT.done;
        suggest(`npx millrace jobs show ${id}`);
        return hasEnded(shown) ? EXIT.failed : EXIT.checkFailed;
      }),
    );
}

async function untilEnd(backend: Backend, id: string, longest: number): Promise<SeenJob> {
  const end = performance.now() + longest * 1000;
  for (;;) {
    const shown = await backend.showJob(id);
    if (shown === undefined) throw new CommandFailure(EXIT.notFound, `job ${id} does not exist`);
    if (hasEnded(shown) || performance.now() >= end) return shown;
    await wait(POLL_MS);
  }
}

function hasEnded({ job }: SeenJob): boolean {
  return ['succeeded', 'skipped', 'cancelled', 'dead_letter'].includes(job.status);
}
