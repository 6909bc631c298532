import type { StatementResult } from '../core/postgres/database.ts';
import { exactJson } from './screen/json.ts';

/** Oids of pg_type, which never change. */
const BOOLEAN = 16;
const SMALL_NUMBERS = [21, 23];
const JSON_TYPES = [114, 3802];

/**
 * Rows as objects. Small integers, booleans and JSON are what they are; all else is the text that Postgres wrote, since
 * a bigint or numeric does not fit a JSON number everywhere.
 */
export function toValues({ columns, rows }: StatementResult): Record<string, unknown>[] {
  const names = distinct(columns.map(({ name }) => name));
  return rows.map((row) =>
    Object.fromEntries(row.map((cell, index) => [names[index], toValue(cell, columns[index]?.type ?? 0)])),
  );
}

function toValue(cell: string | null, type: number): unknown {
  if (cell === null) return null;
  if (type === BOOLEAN) return cell === 't';
  if (SMALL_NUMBERS.includes(type)) return Number(cell);
  return JSON_TYPES.includes(type) ? exactJson(cell) : cell;
}

/** `id, id` becomes `id, id_2`: an object holds a name once. */
function distinct(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let copy = 2; taken.has(free); copy += 1) free = `${name}_${copy}`;
    taken.add(free);
    return free;
  });
}
