/** More lines would hide the rest of the screen: a file in another format has a fault in each line. */
const MOST_FAULTS = 10;
const NAME = /^[A-Za-z_]\w*$/;
/** A line that sets a variable. The last line of a key in base64 can end with `=` or `==`. */
const SETS = /^\s*(?:export\s+)?[A-Za-z_]\w*\s*=\s*[^=\s]/;

interface Assignment {
  readonly name: string;
  readonly value: string;
}

/**
 * Returns what is wrong with the text of a `.env` file, as `.env:2: why`: `parseEnv` skips such lines, or reads more
 * or less than their author expects. A fault contains no value and no invalid name: either can be part of a secret.
 */
export function dotEnvFaults(text: string): string[] {
  const lines = text.split(/\r?\n/);
  const faults: string[] = [];
  const set = new Map<string, number>();
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    if (/^\s*(?:#|$)/.test(line)) continue;
    const number = index + 1;
    const assignment = readAssignment(line);
    if (typeof assignment === 'string') {
      faults.push(`.env:${number}: ${assignment}`);
      continue;
    }
    const { name, value } = assignment;
    const before = set.get(name);
    if (before !== undefined)
      faults.push(`.env:${number}: ${name} is set again: the value in line ${before} is unused`);
    set.set(name, number);
    const { fault, last } = readQuoted(value, lines, index);
    if (fault !== undefined) faults.push(`.env:${number}: ${name}: ${fault}`);
    index = last;
  }
  const more = faults.length - MOST_FAULTS;
  return more > 0 ? [...faults.slice(0, MOST_FAULTS), `.env: ${more} more lines have a fault`] : faults;
}

/** Returns the name and the beginning of the value, or what is wrong with the line. */
function readAssignment(line: string): Assignment | string {
  const equals = line.indexOf('=');
  if (equals < 0) return 'the line has no = and is ignored: write NAME=value';
  const name = line
    .slice(0, equals)
    .replace(/^\s*export\s+/, '')
    .trim();
  if (name === '') return 'the line has no name before = and is ignored: write NAME=value';
  if (!NAME.test(name)) return 'the name is invalid: use letters, digits and _, and no digit first';
  return { name, value: line.slice(equals + 1).trimStart() };
}

/** Returns the index of the last line of a value, and what is wrong with its quotation marks. */
function readQuoted(value: string, lines: readonly string[], index: number): { fault?: string; last: number } {
  const mark = /^["'`]/.exec(value)?.[0];
  if (mark === undefined) return { last: index };
  const rest = [value.slice(1), ...lines.slice(index + 1)];
  const end = rest.findIndex((line) => line.includes(mark));
  if (end < 0) return { fault: `the quotation mark ${mark} is not closed`, last: index };
  const last = index + end;
  if (lines.slice(index + 1, last + 1).some((line) => SETS.test(line))) {
    return { fault: `the value continues to line ${last + 1}, where its quotation mark ${mark} is closed`, last };
  }
  const closing = rest[end] ?? '';
  const after = closing.slice(closing.indexOf(mark) + 1);
  return /^\s*(?:#|$)/.test(after) ? { last } : { fault: `the text after the closing ${mark} is ignored`, last };
}
