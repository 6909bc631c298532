import { hash } from 'node:crypto';
import { invalidParameter } from '../errors.ts';

/** A message attribute in the wire format: `BinaryValue` is base64. */
export interface MessageAttribute {
  readonly DataType: string;
  readonly StringValue?: string;
  readonly BinaryValue?: string;
}

const MAX_ATTRIBUTES = 10;
const NAME = /^(?!\.)(?!.*\.\.)(?!.*\.$)[A-Za-z0-9_.-]{1,256}$/;
const RESERVED = /^(aws|amazon)\./i;
const DATA_TYPE = /^(String|Number|Binary)(\.[\s\S]+)?$/;
const NUMBER = /^[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
/** Characters outside XML 1.0, which SQS refuses. A lone surrogate counts as its own code point and is refused. */
export const FORBIDDEN_CHARACTER = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

/** @throws SqsError InvalidParameterValue */
export function readMessageAttributes(given: unknown): Readonly<Record<string, MessageAttribute>> {
  if (given === undefined || given === null) return {};
  const entries = Object.entries(given as Record<string, unknown>);
  if (entries.length > MAX_ATTRIBUTES) {
    const reason = `Number of message attributes [${entries.length}] exceeds the allowed maximum [${MAX_ATTRIBUTES}].`;
    throw invalidParameter(
      'MessageAttributes',
      entries.map(([name]) => name),
      reason,
    );
  }
  return Object.fromEntries(entries.map(([name, value]) => [name, readAttribute(name, value)]));
}

/** @throws SqsError InvalidParameterValue */
export function readAttribute(name: string, given: unknown): MessageAttribute {
  const refuse = (reason: string) => invalidParameter(`MessageAttributes.${name}`, name, reason);
  if (!NAME.test(name) || RESERVED.test(name)) {
    throw refuse(
      'A name is 1 to 256 letters, digits, _, - and single inner periods, without the prefix AWS. or Amazon.',
    );
  }
  const { DataType, StringValue, BinaryValue } = (given ?? {}) as Partial<Record<keyof MessageAttribute, unknown>>;
  const kind = typeof DataType === 'string' && DataType.length <= 256 ? DATA_TYPE.exec(DataType)?.[1] : undefined;
  if (typeof DataType !== 'string' || kind === undefined) {
    throw refuse('The type must be String, Number or Binary, with an optional label after a period.');
  }
  if (kind === 'Binary') {
    if (typeof BinaryValue !== 'string' || BinaryValue === '') throw refuse('Must contain a non-empty BinaryValue.');
    return { DataType, BinaryValue };
  }
  if (typeof StringValue !== 'string' || StringValue === '') throw refuse('Must contain a non-empty StringValue.');
  if (FORBIDDEN_CHARACTER.test(StringValue)) throw refuse('Contains characters outside the allowed set.');
  if (kind === 'Number' && !isNumber(StringValue)) throw refuse("Can't cast the value to a number.");
  return { DataType, StringValue };
}

function isNumber(text: string): boolean {
  const digits = text
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '');
  return NUMBER.test(text) && digits.length <= 38;
}

/** Returns the bytes that count towards the size of a message. */
export function attributeBytes(attributes: Readonly<Record<string, MessageAttribute>>): number {
  let bytes = 0;
  for (const [name, attribute] of Object.entries(attributes)) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(attribute.DataType) + valueBytes(attribute).length;
  }
  return bytes;
}

/** Returns the checksum that SDKs verify: names in order, each field with its length, the value with a kind byte. */
export function attributesMd5(attributes: Readonly<Record<string, MessageAttribute>>): string | undefined {
  const names = Object.keys(attributes).sort();
  if (names.length === 0) return undefined;
  const parts: Buffer[] = [];
  for (const name of names) {
    const attribute = attributes[name];
    if (attribute === undefined) continue;
    const kind = Buffer.from([attribute.BinaryValue === undefined ? 1 : 2]);
    parts.push(
      ...field(Buffer.from(name)),
      ...field(Buffer.from(attribute.DataType)),
      kind,
      ...field(valueBytes(attribute)),
    );
  }
  return hash('md5', Buffer.concat(parts));
}

/** Selects attributes by MessageAttributeNames: names, `All`, `.*`, or a prefix with `.*`. */
export function selectAttributes(
  attributes: Readonly<Record<string, MessageAttribute>>,
  wanted: readonly string[],
): Readonly<Record<string, MessageAttribute>> {
  if (wanted.length === 0) return {};
  if (wanted.includes('All') || wanted.includes('.*')) return attributes;
  const prefixes = wanted.filter((name) => name.endsWith('.*')).map((name) => name.slice(0, -1));
  const bare = prefixes.map((prefix) => prefix.slice(0, -1));
  const isWanted = (name: string) =>
    wanted.includes(name) || bare.includes(name) || prefixes.some((prefix) => name.startsWith(prefix));
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => isWanted(name)));
}

function valueBytes(attribute: MessageAttribute): Buffer {
  if (attribute.BinaryValue !== undefined) return Buffer.from(attribute.BinaryValue, 'base64');
  return Buffer.from(attribute.StringValue ?? '');
}

function field(bytes: Buffer): [Buffer, Buffer] {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return [length, bytes];
}
