import type { PinnedFilter } from '../../core/dead-letters/list-dead-letters.ts';
import type { RedriveFilter } from '../../core/dead-letters/redrive-operation.ts';
import { shellWord } from '../../core/text.ts';
import { counted } from '../screen/progress.ts';

/** More ids would hide the rest of the line; `--json` has all. */
const MOST_IDS = 5;

/**
 * Returns the filter of a redrive as the options of `millrace redrive`, to repeat it. Every value is quoted: another
 * operator, or an API, chose it.
 */
export function filterFlags(filter: RedriveFilter, mostIds = MOST_IDS): string {
  const { job_type: types, routing_key: key, id: ids = [], since, until, error, group, limit, all, too_large } = filter;
  if (too_large) return '(too large to list)';
  const flags = [
    types && `--job-type ${shellWord(types.join(','))}`,
    key !== undefined && `--routing-key ${shellWord(key)}`,
    ids.length > 0 && `--id ${shellWord(ids.slice(0, mostIds).join(','))}${ids.length > mostIds ? moreOf(ids) : ''}`,
    since && `--since ${shellWord(since)}`,
    until && `--until ${shellWord(until)}`,
    error && `--error ${shellWord(error)}`,
    group && `--group ${shellWord(group)}`,
    all && '--all',
    limit !== undefined && `--limit ${limit}`,
  ];
  return flags.filter((flag) => typeof flag === 'string').join(' ');
}

/** Returns a filter as the options of `millrace dlq export`, with every id. */
export function exportFlags({ jobTypes, routingKey, jobIds, since, until, error, group }: PinnedFilter): string {
  const parts = {
    ...{ job_type: jobTypes, routing_key: routingKey, id: jobIds, error, group },
    ...{ since: since?.toISOString(), until: until?.toISOString() },
  };
  const all = Object.values(parts).every((part) => part === undefined);
  return filterFlags({ ...parts, all }, Number.POSITIVE_INFINITY);
}

function moreOf(ids: readonly string[]): string {
  return `,… (${counted(ids.length, 'job')})`;
}
