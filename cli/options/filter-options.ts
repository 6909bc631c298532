import type { Command } from 'commander';
import type { DeadLetterFilter } from '../../core/dead-letters/filter.ts';
import { chooseGroup, SHOWN_GROUP } from '../../core/dead-letters/find-group.ts';
import type { PinnedFilter } from '../../core/dead-letters/list-dead-letters.ts';
import { type Duration, seconds } from '../../core/duration.ts';
import type { Backend } from '../backend/backend.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { errorPart, group, jobIdList, jobTypes, pastTime, routingKey } from './values.ts';

/** The options that select dead letters. */
export interface FilterOptions {
  readonly jobType?: string[];
  readonly routingKey?: string;
  readonly id?: string[];
  readonly since?: Date | Duration;
  readonly until?: Date | Duration;
  readonly error?: string;
  readonly group?: string;
}

const CHOICES = 'dead letters: --job-type, --routing-key, --id, --since, --until, --error or --group';
/** A move task supports no other filters. */
export const QUEUE_CHOICES = 'queues: --job-type or --routing-key';

/** What every option for a time in the past accepts. */
const WHEN =
  'a time such as 2026-01-31T12:00:00Z, a duration such as 1h for an hour ago, or a clock time (UTC) such as 18:10';

export function shortGroup(fingerprint: string | null): string {
  return fingerprint?.slice(0, SHOWN_GROUP) ?? '-';
}

export function addAddressOptions(command: Command): Command {
  return command
    .option('--job-type <type>', 'only these job types; separate with commas or repeat the option', jobTypes)
    .option('--routing-key <key>', "only this routing key; '' for none", routingKey);
}

/** Adds options for an interval; `event` is what happened in it, such as `died`. */
export function addTimeOptions(command: Command, event: string, until = '--until'): Command {
  return command
    .option('--since <when>', `only those that ${event} at this time or later: ${WHEN}`, pastTime)
    .option(`${until} <when>`, `only those that ${event} at this time or earlier, in the same formats`, pastTime)
    .hook('preAction', (_command, asked) => {
      const { since, until: end, createdTo = end } = asked.opts<{ since?: When; until?: When; createdTo?: When }>();
      refuseReversed(since, createdTo, until);
    });
}

type When = Date | Duration;

/** @throws CommandFailure that names both times if no time is between them. */
function refuseReversed(since: When | undefined, until: When | undefined, flag: string): void {
  const now = Date.now();
  const time = (when: When) => (when instanceof Date ? when.getTime() : now - seconds(when, 'duration') * 1000);
  if (since === undefined || until === undefined || time(until) >= time(since)) return;
  const text = (when: When) => (when instanceof Date ? when.toISOString() : `${when} ago`);
  throw new CommandFailure(
    EXIT.usage,
    `${flag} (${text(until)}) is before --since (${text(since)}): no time is between them`,
  );
}

export function addFilterOptions(command: Command): Command {
  return addTimeOptions(addAddressOptions(command), 'died')
    .option('--id <id>', 'only these jobs; separate with commas or repeat the option', jobIdList)
    .option('--error <text>', 'only errors that contain this text, ignoring case', errorPart)
    .option('--group <group>', 'only this group, as shown by dlq groups', group);
}

export function toFilter(options: FilterOptions, ids: readonly string[] = []): DeadLetterFilter {
  const { jobType, routingKey: key, id = [], since, until, error, group: beginning } = options;
  const named = [...new Set([...ids, ...id])];
  return {
    ...{ jobTypes: jobType, routingKey: key, since, until, error, group: beginning },
    jobIds: named.length === 0 ? undefined : named,
  };
}

/**
 * Requires an explicit choice: a filter that a script left empty must not select everything.
 * @throws CommandFailure unless there is either a filter or --all.
 */
export function requireChoice(filter: DeadLetterFilter, all: boolean | undefined, choices = CHOICES): void {
  const filtered = Object.values(filter).some((part) => part !== undefined);
  if (filtered && all) throw new CommandFailure(EXIT.usage, '--all selects every dead letter: use it without a filter');
  if (filtered || all) return;
  throw new CommandFailure(EXIT.usage, `specify which ${choices}, or --all for every one`);
}

/** Returns the filter with times and a full fingerprint. @throws CommandFailure for an unknown or ambiguous group. */
export async function pinFilter(backend: Backend, filter: DeadLetterFilter): Promise<PinnedFilter> {
  const pinned = await backend.pinTimes(filter);
  return pinned.group === undefined ? pinned : { ...pinned, group: await findGroup(backend, pinned.group) };
}

export async function findGroup(backend: Backend, beginning: string): Promise<string> {
  const found = chooseGroup(beginning, await backend.findGroups(beginning));
  if (found.fingerprint !== undefined) return found.fingerprint;
  throw new CommandFailure(found.ambiguous ? EXIT.usage : EXIT.notFound, found.fault);
}
