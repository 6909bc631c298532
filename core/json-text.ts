/** A member of an object in JSON text. */
export interface Member {
  readonly key: string;
  /** Number of objects and arrays around the member, at least 1. */
  readonly depth: number;
  /** Whether its object already has the key: JSON.parse keeps only the last one. */
  readonly isDuplicate: boolean;
  /** Returns the keys and indexes that lead to the member. */
  path(): (string | number)[];
  /** Returns the text of its value. */
  text(): string;
}

/** An open object or array; only an object has `keys`. */
interface Open {
  readonly keys: Set<string> | undefined;
  /** Whether the next string is a key. */
  isKeyNext: boolean;
  /** Key or index of the current part. */
  at: string | number;
  isDuplicate: boolean;
  /** Where the text of the current value begins. */
  start: number;
}

/** Calls `visit` for each member of every object in valid JSON text, after the member's own members. */
export function walkMembers(json: string, visit: (member: Member) => void): void {
  const open: Open[] = [];
  for (let at = 0; at < json.length; at++) {
    const top = open.at(-1);
    const sign = json[at];
    if (sign === '{') open.push({ keys: new Set(), isKeyNext: true, at: '', isDuplicate: false, start: at });
    else if (sign === '[') open.push({ keys: undefined, isKeyNext: false, at: 0, isDuplicate: false, start: at });
    else if (top === undefined) at = sign === '"' ? endOfString(json, at) : at;
    else if (sign === '}' || sign === ']') {
      if (top.keys && !top.isKeyNext) visit(memberOf(json, open, at));
      open.pop();
    } else if (sign === ',') endPart(json, open, at, visit);
    else if (sign === '"') at = passString(json, top, at);
  }
}

function endPart(json: string, open: readonly Open[], end: number, visit: (member: Member) => void): void {
  const top = open.at(-1) as Open;
  if (typeof top.at === 'number') top.at += 1;
  else {
    visit(memberOf(json, open, end));
    top.isKeyNext = true;
  }
}

function memberOf(json: string, open: readonly Open[], end: number): Member {
  const { at: key, isDuplicate, start } = open.at(-1) as Open;
  const path = () => open.map(({ at }) => at);
  return { key: String(key), depth: open.length, isDuplicate, path, text: () => json.slice(start, end).trim() };
}

/** Skips a key or a string; returns where it ends. */
function passString(json: string, top: Open, start: number): number {
  const end = endOfString(json, start);
  if (!top.isKeyNext) return end;
  const key = JSON.parse(json.slice(start, end + 1)) as string;
  top.isDuplicate = top.keys?.has(key) ?? false;
  top.keys?.add(key);
  top.isKeyNext = false;
  top.at = key;
  top.start = json.indexOf(':', end) + 1;
  return top.start - 1;
}

function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at;
}

const NUMBER = /-?\d[\d.eE+-]*/y;

/**
 * Returns the number of bytes that Postgres prints for valid JSON text as jsonb: a space after each colon and comma,
 * numbers without an exponent, and only the necessary escapes. Keys must be unique.
 */
export function printedBytes(json: string): number {
  let bytes = 0;
  for (let at = 0; at < json.length; at++) {
    const sign = json[at] as string;
    if (sign === '"') {
      const end = endOfString(json, at);
      bytes += stringBytes(json.slice(at, end + 1));
      at = end;
    } else if (sign === ',' || sign === ':') bytes += 2;
    else if (sign === '-' || (sign >= '0' && sign <= '9')) {
      NUMBER.lastIndex = at;
      const [number = sign] = NUMBER.exec(json) ?? [];
      bytes += numberBytes(number);
      at += number.length - 1;
    } else if (!' \t\r\n'.includes(sign)) bytes += 1;
  }
  return bytes;
}

function stringBytes(text: string): number {
  return Buffer.byteLength(text.includes('\\') ? JSON.stringify(JSON.parse(text)) : text);
}

function numberBytes(source: string): number {
  const { sign, digits, exponent, scale } = readNumber(source);
  const whole = digits === '' ? 1 : Math.max(1, digits.length + exponent);
  return (digits === '' ? 0 : sign.length) + whole + (scale === 0 ? 0 : scale + 1);
}

/** A number as its digits, without zeros in front, times ten to the power of `exponent`. */
interface WrittenNumber {
  readonly sign: string;
  /** Empty for zero. */
  readonly digits: string;
  readonly exponent: number;
  /** How many digits Postgres prints after the point. */
  readonly scale: number;
}

function readNumber(source: string): WrittenNumber {
  const [, sign = '', whole = '', part = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d*))?(?:e([+-]?\d+))?$/i.exec(source) ?? [];
  const exponent = Number(power) - part.length;
  return { sign, digits: (whole + part).replace(/^0+/, ''), exponent, scale: Math.max(0, -exponent) };
}

/**
 * Returns whether a number of JSON text has the value that JavaScript reads: JavaScript writes it with the same digits,
 * to the shortest length or to a hundred digits. The notation does not matter: 1E+2 is 100.0.
 */
export function keepsDigits(source: string, value: number): boolean {
  if (String(value) === source) return true;
  if (!Number.isFinite(value)) return false;
  const plain = plainNumber(source);
  return plainNumber(String(value)) === plain || plainNumber(value.toPrecision(100)) === plain;
}

/** Returns a number in one notation, so that two texts of one value are equal: `-12e3` for `-12000.0`. */
function plainNumber(source: string): string {
  const { sign, digits, exponent } = readNumber(source);
  let length = digits.length;
  while (digits[length - 1] === '0') length -= 1;
  return length === 0 ? '0' : `${sign}${digits.slice(0, length)}e${exponent + digits.length - length}`;
}

/** Returns the number of values in JSON text: objects, arrays, strings, numbers, booleans and nulls, but not keys. */
export function countValues(json: string): number {
  let count = 1;
  for (let at = 0; at < json.length; at++) {
    const sign = json[at];
    if (sign === '"') {
      // Unlike endOfString, this also ends with text that is not JSON.
      while (++at < json.length && json[at] !== '"') at += json[at] === '\\' ? 1 : 0;
    } else if (sign === ',') count += 1;
    else if (sign === '[' || sign === '{') {
      while (' \t\r\n'.includes(json[at + 1] ?? '-')) at += 1;
      if (json[at + 1] !== ']' && json[at + 1] !== '}') count += 1;
    }
  }
  return count;
}
