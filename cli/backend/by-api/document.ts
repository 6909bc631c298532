import { parseExactly, toJson } from '../../../core/json.ts';

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;
/** Members with these endings, and this one, are times. */
type TimeName = `${string}_at` | `${string}_until` | 'start_by';
type Value<Name, Given> = Name extends TimeName ? (Given extends string ? Date : Given) : Given;

/** A document of the API in the form of the program: `jobType` for `job_type`, and a Date for each time. */
export type FromDocument<Document> = {
  readonly [Name in keyof Document & string as CamelCase<Name>]: Value<Name, Document[Name]>;
};

export function fromDocument<Document extends object>(document: Document): FromDocument<Document> {
  const rename = (name: string) => name.replace(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase());
  const members = Object.entries(withDates(document)).map(([name, value]) => [rename(name), value]);
  return Object.fromEntries(members) as FromDocument<Document>;
}

/** The same with the names of the SQL columns. */
export type WithDates<Document> = { readonly [Name in keyof Document]: Value<Name, Document[Name]> };

export function withDates<Document extends object>(document: Document): WithDates<Document> {
  const members = Object.entries(document).map(([name, value]) => {
    return [name, /_(at|until)$|^start_by$/.test(name) && typeof value === 'string' ? new Date(value) : value];
  });
  return Object.fromEntries(members) as WithDates<Document>;
}

/** Returns the JSON text of each member of a JSON object, since a number that JavaScript reads can lose digits. */
export function memberTexts(json: string): ReadonlyMap<string, string> {
  const members = Object.entries(parseExactly(json) as object);
  return new Map(members.map(([name, value]) => [name, toJson(value)]));
}
