import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Duration } from '../../core/duration.ts';
import { type JobStatus, STATUSES } from '../../core/job.ts';
import {
  CONDITION_EXPECTED,
  isEveryJob,
  type JobFilter,
  MOST_CONDITIONS,
  type PayloadCondition,
  readCondition,
} from '../../core/look/job-filter.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { addAddressOptions, addTimeOptions } from './filter-options.ts';
import { errorPart, group, key, statuses, whole } from './values.ts';

/** The options that select jobs, in lists and operations. */
export interface JobFilterOptions {
  readonly status?: JobStatus[];
  readonly jobType?: string[];
  readonly routingKey?: string;
  readonly uniqueKey?: string;
  readonly groupKey?: string;
  readonly error?: string;
  readonly group?: string;
  readonly since?: Date | Duration;
  readonly createdTo?: Date | Duration;
  readonly attemptsFrom?: number;
  readonly attemptsTo?: number;
  readonly payload?: PayloadCondition[];
}

const MOST_ATTEMPTS = 999_999;
const CHOICES = '--status, --job-type, --error, --payload or another option of --help';

export function addJobFilterOptions(command: Command): Command {
  return addTimeOptions(addAddressOptions(command), 'were created', '--created-to')
    .addOption(
      new Option('--status <status>', 'only these statuses; separate with commas or repeat the option')
        .choices(STATUSES)
        .argParser(statuses),
    )
    .option('--unique-key <key>', 'only the jobs with this unique key', key)
    .option('--group-key <key>', 'only the jobs with this group key', key)
    .option('--error <text>', 'only jobs whose last error contains this text, ignoring case', errorPart)
    .option('--group <group>', 'only jobs whose last error is of this group, as shown by dlq groups', group)
    .option('--attempts-from <n>', 'only jobs with this many attempts or more', whole(0, MOST_ATTEMPTS))
    .option('--attempts-to <n>', 'only jobs with this many attempts or fewer', whole(0, MOST_ATTEMPTS))
    .option('--payload <path=value>', 'only jobs with this value in the payload; repeat for more', conditions)
    .hook('preAction', (_command, asked) => refuseNoAttempts(asked.opts<JobFilterOptions>()));
}

/** @throws CommandFailure that names both numbers if none is between them. */
function refuseNoAttempts({ attemptsFrom: least, attemptsTo: most }: JobFilterOptions): void {
  if (least === undefined || most === undefined || least <= most) return;
  throw new CommandFailure(EXIT.usage, `--attempts-to (${most}) is less than --attempts-from (${least})`);
}

function conditions(text: string, before: readonly PayloadCondition[] = []): PayloadCondition[] {
  const condition = readCondition(text);
  if (condition === undefined) throw new InvalidArgumentError(`Expected ${CONDITION_EXPECTED}.`);
  if (before.length === MOST_CONDITIONS) throw new InvalidArgumentError(`Expected at most ${MOST_CONDITIONS} of them.`);
  return [...before, condition];
}

export function toJobFilter(options: JobFilterOptions): JobFilter {
  const { status = [], jobType = [], routingKey, uniqueKey, groupKey, error, since, createdTo } = options;
  return {
    ...{ statuses: status, jobTypes: jobType, routingKey, uniqueKey, groupKey, error, group: options.group },
    ...{ createdFrom: since, createdTo, attemptsFrom: options.attemptsFrom, attemptsTo: options.attemptsTo },
    payload: options.payload,
  };
}

/**
 * Returns whether a command acts on a filter instead of ids. A filter that a script left empty must not mean all jobs.
 * @throws CommandFailure unless there are either ids, or a filter, or --all.
 */
export function choosesByFilter(options: JobFilterOptions & { all?: boolean }, ids: readonly string[]): boolean {
  const filtered = !isEveryJob(toJobFilter(options));
  if ([ids.length > 0, filtered, options.all === true].filter(Boolean).length === 1) return ids.length === 0;
  if (ids.length > 0) throw new CommandFailure(EXIT.usage, 'name ids or use a filter, not both');
  if (filtered) throw new CommandFailure(EXIT.usage, '--all selects every job: use it without a filter');
  throw new CommandFailure(EXIT.usage, `name ids, or specify which jobs: ${CHOICES}, or --all for every one`);
}
