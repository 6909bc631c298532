/** The claims of a token as API Gateway passes them to a function: each is text. */
export type Claims = Readonly<Record<string, string>>;

/** Formats each claim as API Gateway does, which omits those that are null. */
export function asClaims(payload: Readonly<Record<string, unknown>>): Claims {
  const pairs = Object.entries(payload).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(pairs.map(([name, value]) => [name, asText(value)]));
}

/** Formats as `fmt.Print` of Go does: a list is `[one two]`, and an object `map[key:value]` with its keys sorted. */
function asText(value: unknown): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(asText).join(' ')}]`;
  if (typeof value !== 'object') return String(value);
  const pairs = Object.entries(value as object).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `map[${pairs.map(([key, one]) => `${key}:${asText(one)}`).join(' ')}]`;
}
