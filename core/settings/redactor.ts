import { inspect } from 'node:util';

/** A shorter value would replace parts of ordinary words, and protects little. */
const SHORTEST_REDACTED = 6;
/** A line of a secret of several lines, such as a private key in PEM; shorter ones are often words. */
const SHORTEST_LINE = 12;
/** Values of one secret that are replaced: the present one, and those of its last rotations. */
const MOST_VALUES = 3;
const REDACTED = '***';

/** Replaces the values of secrets in texts. */
export interface Redactor {
  /** Adds the value of a secret. Earlier values of it are also replaced: a running attempt can have one. */
  add(name: string, value: string): void;
  /** Returns the text with `***` for each value, also in the form that it has inside of JSON or of a URL. */
  redact(text: string): string;
}

export function openRedactor(): Redactor {
  const values = new Map<string, readonly string[]>();
  let needles: readonly string[] = [];
  return {
    add: (name, value) => {
      const known = values.get(name) ?? [];
      if (known[0] === value) return;
      values.set(name, [value, ...known.filter((one) => one !== value)].slice(0, MOST_VALUES));
      needles = needlesOf([...values.values()].flat());
    },
    redact: (text) => {
      const rest = needles.reduce((given, needle) => given.replaceAll(needle, REDACTED), text);
      return redactCut(rest, needles);
    },
  };
}

/** Returns what to replace, the longest first, because one value can contain another. */
function needlesOf(values: readonly string[]): string[] {
  const all = values.flatMap((value) => [value.trim(), ...partsOf(value)]);
  const long = [...new Set(all.flatMap(formsOf))].filter((form) => form.length >= SHORTEST_REDACTED);
  return long.toSorted((one, other) => other.length - one.length);
}

/** Returns the forms of a value in texts: as it is, in JSON, in JSON within JSON, in what `inspect` shows, in URLs. */
function formsOf(value: string): string[] {
  const text = value.toWellFormed();
  const json = inQuotes(JSON.stringify(value));
  const shown = inQuotes(inspect(value, { breakLength: Number.POSITIVE_INFINITY }));
  const form = new URLSearchParams({ '': text }).toString().slice(1);
  return [value, json, inQuotes(JSON.stringify(json)), shown, encodeURIComponent(text), encodeURI(text), form];
}

function inQuotes(quoted: string): string {
  return quoted.slice(1, -1);
}

/** Where a long text was cut, before its original length. */
const CUT = '… (';

/** Replaces the beginning of a value at each place where the text was cut before it was given here. */
function redactCut(text: string, needles: readonly string[]): string {
  const parts = text.split(CUT);
  const last = parts.length - 1;
  return parts.map((part, index) => (index < last ? withoutBeginning(part, needles) : part)).join(CUT);
}

function withoutBeginning(part: string, needles: readonly string[]): string {
  for (const needle of needles) {
    for (let length = needle.length - 1; length >= SHORTEST_REDACTED; length--) {
      if (part.endsWith(needle.slice(0, length))) return part.slice(0, -length) + REDACTED;
    }
  }
  return part;
}

/** Members of a secret that are secret themselves: others, such as the name of a database, occur in many texts. */
const SECRET_MEMBER = /pass|pwd|secret|token|credential|private|key/i;

/**
 * Returns the secret texts in a secret: those of a JSON object, such as that of a login, or the lines of a text,
 * because a stack or `inspect` can indent each of them.
 */
function partsOf(value: string): string[] {
  try {
    const parsed: unknown = JSON.parse(value);
    if (typeof parsed !== 'object' || parsed === null) return [];
    return Object.entries(parsed).flatMap(([name, one]) =>
      typeof one === 'string' && SECRET_MEMBER.test(name) ? [one, ...linesOf(one)] : [],
    );
  } catch {
    return linesOf(value);
  }
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.trim());
  // The first and the last line of PEM are not secret.
  return lines.length === 1 ? [] : lines.filter((line) => line.length >= SHORTEST_LINE && !line.startsWith('-----'));
}
