import type { Command } from 'commander';
import type { DeadLetterFilter } from '../../core/dead-letters/filter.ts';
import type { PinnedFilter } from '../../core/dead-letters/list-dead-letters.ts';
import type { Duration } from '../../core/duration.ts';
import type { Backend } from '../backend/backend.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { errorPart, group, jobIdList, jobTypes, routingKey, timeOrDuration } from './values.ts';

/** Which dead letters a command is about. */
export interface FilterOptions {
  readonly jobType?: string[];
  readonly routingKey?: string;
  readonly id?: string[];
  readonly since?: Date | Duration;
  readonly error?: string;
  readonly group?: string;
}

/** How much of a fingerprint is shown; any beginning that only one has will do. */
const SHOWN_GROUP = 8;

const CHOICES = 'dead letters: --job-type, --routing-key, --id, --since, --error or --group';
/** A move task knows no others. */
export const QUEUE_CHOICES = 'queues: --job-type or --routing-key';

export function shortGroup(fingerprint: string | null): string {
  return fingerprint?.slice(0, SHOWN_GROUP) ?? '-';
}

export function addAddressOptions(command: Command): Command {
  return command
    .option('--job-type <type>', 'only these, repeatable or with commas', jobTypes)
    .option('--routing-key <key>', "only of this routing key; '' for none", routingKey);
}

export function addFilterOptions(command: Command): Command {
  return addAddressOptions(command)
    .option('--id <id>', 'only these jobs, repeatable or with commas', jobIdList)
    .option('--since <when>', 'died since: 1h, 7d, or 2030-01-31T12:00:00Z', timeOrDuration)
    .option('--error <text>', 'only with this text in the error, whatever the case', errorPart)
    .option('--group <group>', 'only one kind of error, as dlq groups shows it', group);
}

export function toFilter(options: FilterOptions, ids: readonly string[] = []): DeadLetterFilter {
  const { jobType, routingKey: key, id = [], since, error, group: beginning } = options;
  const named = [...new Set([...ids, ...id])];
  return {
    ...{ jobTypes: jobType, routingKey: key, since, error, group: beginning },
    jobIds: named.length === 0 ? undefined : named,
  };
}

/**
 * Everything has to be asked for: a filter that a script left empty must not mean all.
 * @throws CommandFailure unless there is either a filter or --all.
 */
export function requireChoice(filter: DeadLetterFilter, all: boolean | undefined, choices = CHOICES): void {
  const filtered = Object.values(filter).some((part) => part !== undefined);
  if (filtered && all)
    throw new CommandFailure(EXIT.usage, '--all means every dead letter: leave it or the filter out');
  if (filtered || all) return;
  throw new CommandFailure(EXIT.usage, `say which ${choices}, or --all for every one`);
}

/** The filter with a fixed time and a whole fingerprint. @throws CommandFailure for a group that is none or several. */
export async function pinFilter(backend: Backend, filter: DeadLetterFilter): Promise<PinnedFilter> {
  const pinned = await backend.pinSince(filter);
  return pinned.group === undefined ? pinned : { ...pinned, group: await findGroup(backend, pinned.group) };
}

export async function findGroup(backend: Backend, beginning: string): Promise<string> {
  const [first, second] = await backend.findGroups(beginning);
  if (first === undefined) {
    throw new CommandFailure(EXIT.notFound, `no group of dead letters begins with ${beginning}`);
  }
  if (second === undefined) return first;
  throw new CommandFailure(EXIT.usage, `more than one group begins with ${beginning}: give more of it`);
}
