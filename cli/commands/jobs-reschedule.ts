import type { Command } from 'commander';
import type { JobChange } from '../../core/operations/operation.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { addOperationOptions, type OperationOptions, runOperation } from '../operations/run-operation.ts';
import { action, examples } from '../options/action.ts';
import { choosesByFilter } from '../options/job-filter-options.ts';
import { time, whole } from '../options/values.ts';

interface RescheduleOptions extends OperationOptions {
  readonly runAt?: Date;
  readonly now?: boolean;
  readonly priority?: number;
}

/** `millrace jobs reschedule` */
export function addJobsReschedule(jobs: Command): void {
  addOperationOptions(jobs.command('reschedule'))
    .description('give waiting jobs another time, another priority, or both')
    .option('--run-at <time>', 'make the jobs due at this time, such as 2030-01-31T12:00:00Z', time)
    .option('--now', 'make the jobs due now')
    .option('--priority <n>', 'priority, 0 first to 9 last', whole(0, 9))
    .option('-y, --yes', 'skip the confirmation')
    .addHelpText(
      'after',
      examples(
        'jobs reschedule --job-type send_reminder --now',
        'jobs reschedule --payload customer.id=42 --priority 1 --yes',
      ),
    )
    .action(
      action<RescheduleOptions>(async (options) => {
        choosesByFilter(options, []);
        return runOperation(options, 'reschedule', changeOf(options));
      }),
    );
}

function changeOf({ runAt, now, priority }: RescheduleOptions): JobChange {
  if (runAt !== undefined && now) throw new CommandFailure(EXIT.usage, 'use --run-at or --now, not both');
  if (runAt === undefined && !now && priority === undefined) {
    throw new CommandFailure(EXIT.usage, 'specify what to change: --now, --run-at or --priority');
  }
  return { run_at: now ? 'now' : runAt?.toISOString(), priority };
}
