/** A shorter value would replace parts of ordinary words, and protects little. */
const SHORTEST_REDACTED = 6;
/** Values of one secret that are replaced: the present one, and those of its last rotations. */
const MOST_VALUES = 3;
const REDACTED = '***';

/** Replaces the values of secrets in texts. */
export interface Redactor {
  /** Adds the value of a secret. Earlier values of it are also replaced: a running attempt can have one. */
  add(name: string, value: string): void;
  /** Returns the text with `***` for each value, also in the form that it has inside of JSON. */
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
    redact: (text) => needles.reduce((rest, needle) => rest.replaceAll(needle, REDACTED), text),
  };
}

/** Returns what to replace, the longest first, because one value can contain another. */
function needlesOf(values: readonly string[]): string[] {
  const all = values.flatMap((value) => [value.trim(), ...textsIn(value)]);
  const forms = all.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]);
  const long = [...new Set(forms)].filter((form) => form.length >= SHORTEST_REDACTED);
  return long.toSorted((one, other) => other.length - one.length);
}

/** Members of a secret that are secret themselves: others, such as the name of a database, occur in many texts. */
const SECRET_MEMBER = /pass|pwd|secret|token|credential|private|key/i;

/** Returns the secret texts in a secret that is a JSON object, such as that of a database login. */
function textsIn(value: string): string[] {
  try {
    const parsed: unknown = JSON.parse(value);
    if (typeof parsed !== 'object' || parsed === null) return [];
    return Object.entries(parsed).flatMap(([name, one]) =>
      typeof one === 'string' && SECRET_MEMBER.test(name) ? [one] : [],
    );
  } catch {
    return [];
  }
}
