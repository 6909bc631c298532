import type { Operation } from '../../core/operations/operation.ts';
import { shellWord } from '../../core/text.ts';
import { count } from '../screen/progress.ts';
import { printPairs } from '../screen/terminal.ts';

/** The options of the command line whose names are not those of the API. */
const FLAGS: Readonly<Record<string, string>> = { created_from: 'since' };
/** More values would hide the rest of the line; `--json` has all. */
const MOST_VALUES = 5;

/** Returns a filter as the options of the command line. Every value is quoted: another operator chose it. */
export function operationFlags({ all, too_large, ...parts }: Operation['filter']): string {
  if (too_large) return '(too large to list)';
  const flags = Object.entries(parts).flatMap(([name, value]) => {
    const flag = `--${(FLAGS[name] ?? name).replaceAll('_', '-')}`;
    if (!Array.isArray(value)) return [`${flag} ${shellWord(String(value))}`];
    const shown = value.slice(0, MOST_VALUES).map(String);
    const more = value.length > MOST_VALUES ? ',…' : '';
    if (name === 'payload') return shown.map((condition) => `${flag} ${shellWord(condition)}`);
    return [`${flag} ${shellWord(shown.join(','))}${more}`];
  });
  return [...(all ? ['--all'] : []), ...flags].join(' ');
}

/** Returns how many jobs were not changed, by reason; empty if all were. */
export function leftOf({ left }: Pick<Operation, 'left'>): string {
  return Object.entries(left)
    .map(([why, jobs]) => `${count(jobs)} ${why.replaceAll('_', ' ')}`)
    .join(', ');
}

export function printOperation(operation: Operation): void {
  const { id, kind, status, done, expected, ratePerSecond, change, reason } = operation;
  printPairs([
    ['operation', id],
    ['kind', kind],
    ['status', status],
    ['changed', expected === null ? done : `${done} of ${expected}`],
    ['left', leftOf(operation) || null],
    ['rate', ratePerSecond === null ? 'unlimited' : `${ratePerSecond}/s`],
    ['run at', change?.run_at ?? null],
    ['priority', change?.priority ?? null],
    ['filter', operationFlags(operation.filter)],
    ['reason', reason],
    ['by', operation.requestedBy],
    ['as of', operation.asOf],
    ['started', operation.createdAt],
    ['finished', operation.finishedAt],
  ]);
}
