const RAW = Symbol('JSON text');

/** JSON text that goes into a document as it is, so that a number keeps the digits that JavaScript would lose. */
export interface RawJson {
  readonly [RAW]: string;
}

export function rawJson(text: string): RawJson {
  return { [RAW]: text };
}

/** One document on one line. Dates become ISO text, as everywhere. */
export function toJson(value: unknown): string {
  if (typeof value !== 'object' || value === null || value instanceof Date) return JSON.stringify(value) ?? 'null';
  if (RAW in value) return String(value[RAW]);
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toJson(member)}`).join(',')}}`;
}

/** `jobType` becomes `job_type`, the name that SQL has for it. */
export function snakeCase(record: object): Record<string, unknown> {
  const rename = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [rename(name), value]));
}
