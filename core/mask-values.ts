/**
 * Replaces what differs between two errors of one kind by `#`: ids, numbers, amounts, times, addresses, quoted values.
 * Words, names of columns and modules, HTTP statuses and exit codes stay. Takes time in proportion to the length: each
 * expression either consumes the characters that it examines, or examines a limited number of them.
 */
export function maskValues(text: string): string {
  const steps: ((text: string) => string)[] = [
    maskJsonSnippet,
    (given) => given.replace(URL_TEXT, (_whole, scheme: string, rest: string) => `${scheme}://${maskUrl(rest)}`),
    (given) => given.replace(MAIL, '#').replace(ARN, 'arn:$1:#').replace(PRIVATE_PATH, '$1#'),
    (given) => given.replace(QUOTED, maskQuoted),
    (given) => given.replace(DATE_WORD, '0').replace(ZONE, '').replace(COLONS, '#').replace(BASE_64, maskBase64),
    (given) => given.replace(WORD, maskWord),
    (given) => given.replace(RUN, '#').replace(AMOUNT, '#').replace(RUN, '#').replace(PLURAL, toSingular),
  ];
  return steps
    .reduce((given, step) => step(given), text)
    .replace(/\s+/g, ' ')
    .trim();
}

const URL_TEXT = /\b([a-z][a-z0-9+.-]{1,20}):\/\/([^\s"'`<>(){}[\],;|\\^]+)/gi;
const MAIL = /(?:[^\s@"'`<>()[\]{},;:=/]|(?<=\w)'(?=\w)){1,64}@[^\s@"'`<>()[\]{},;:=/]+/g;
const ARN = /\barn:[\w-]{1,20}:([\w-]{1,40}):[^\s"'`),;]+/g;
/** Folders whose next segments name a person or a moment. */
const PRIVATE_PATH = /(\/(?:tmp|home|Users)\/)[^\s"'`),;:]+/g;
const QUOTED =
  /"([^"\\]*(?:\\[\s\S][^"\\]*)*)(?:"|\\?$)|(?<![\p{L}\p{N}])'((?:[^'\n]|(?<=\p{L})'(?=\p{L})){0,400})'(?![\p{L}\p{N}])|`([^`\n]{0,400})`|[“«]([^“«”»]{0,400})[”»]/gu;
const MONTH =
  '(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t|tember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)';
const WEEKDAY = '(?:Mon|Tue(?:s)?|Wed(?:nes)?|Thu(?:r|rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?';
const DATE_WORD = new RegExp(
  `\\b${WEEKDAY},? (?=\\d|${MONTH} )|\\b${MONTH}\\b(?=[ ,.-]{1,2}\\d)|(?<=\\d[ -])${MONTH}\\b`,
  'g',
);
const ZONE = /(?<=\d) ?(?:GMT|UTC|CES?T|AM|PM)\b(?:[+-]\d{2}:?\d{2})?(?: \([A-Z][^)]{0,60}\))?/g;
/** IPv6 addresses, MAC addresses and times of day. */
const COLONS = /(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])/gi;
const BASE_64 = /[A-Za-z0-9+/_=-]{20,}/g;
const WORD = /[\p{L}\p{N}_$*-]+/gu;
const RUN = /#(?:[ .,:;/+×*~|=&_-]{1,3}#)+/g;
const UNIT = '[KMGT]i?B|kB|B|ms|µs|s|m|h|d|(?:milli)?seconds?|minutes?|hours?|days?|bytes?';
const CURRENCY = 'AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|INR|JPY|MXN|NOK|NZD|PLN|SEK|SGD|USD|usd|eur|gbp';
const AMOUNT = new RegExp(`(?:[$€£¥] ?)?#(?: ?[$€£¥%]| (?:${CURRENCY}|${UNIT})(?![\\p{L}\\p{N}_]))?`, 'gu');
/** One row and two rows are one kind. */
const PLURAL = /# (\p{Ll}{2,30}?)(ies|e?s)\b/gu;

function toSingular(_whole: string, stem: string, ending: string): string {
  return `# ${stem}${ending === 'ies' ? 'y' : ''}`;
}

/** V8 quotes the start of what it could not parse, with the quotes that it contains. */
function maskJsonSnippet(text: string): string {
  const from = text.indexOf('Unexpected token');
  const to = from < 0 ? -1 : text.indexOf('is not valid JSON', from);
  return to < 0 ? text : `${text.slice(0, from)}Unexpected token # ${text.slice(to)}`;
}

function maskUrl(rest: string): string {
  const [address = ''] = rest.split(/[?#]/, 1);
  const [host = '', ...path] = address.replace(/[.:]{1,3}$/, '').split('/');
  const name = host.slice(host.lastIndexOf('@') + 1).replace(/:\d+$/, '');
  return [name, ...path].map((part) => part.replace(WORD, (word) => (isVariable(word) ? '#' : word))).join('/');
}

const NOUN =
  /(?:relation|table|column|constraint|index|type|function|schema|database|role|module|package|propert(?:y|ies)|reading|setting|field|option|argument|parameter|param|method|header|enum|queue|export|named|sequence|view|operator|extension|for key|model|class|command|service|action|import|variable|attribute|directive|scope|permission|keyspace|collection)s?(?: named?)?[ :=]{0,2}[([]?$/i;
const NOUN_AFTER =
  /^ (?:argument|propert(?:y|ies)|option|field|parameter|header|column|table|method|function|module|setting|invocation|command|model|is required|is not (?:a function|defined|allowed|iterable|a constructor|installed)|must (?:be|have|contain)|of relation|before initialization)/;
const TELLING_KEY = /"(?:message|error|code|reason|type|expected|path|title|detail)"\s{0,2}:\s{0,2}\[?\s{0,8}$/;
const NAME = /^[@\p{L}_$][\p{L}_$@./*()[\]-]{0,62}$/u;
const AROUND = 40;

/** Keeps a quoted name, a URL and the value of a JSON key such as `message`; replaces any other quoted text. */
function maskQuoted(quoted: string, ...groups: unknown[]): string {
  const offset = groups.findIndex((group) => typeof group === 'number');
  const at = groups[offset] as number;
  const whole = groups[offset + 1] as string;
  const content = groups.slice(0, offset).find((group) => group !== undefined) as string;
  const before = whole.slice(Math.max(0, at - AROUND), at);
  const after = whole.slice(at + quoted.length, at + quoted.length + AROUND);
  if (TELLING_KEY.test(before) || /^[a-z+]{2,10}:\/\//i.test(content)) return content;
  const isKey = /^\s{0,2}:/.test(after);
  return NAME.test(content) && (isKey || NOUN.test(before) || NOUN_AFTER.test(after)) ? content : '#';
}

/** Standard base 64 contains `/` and `+`, which would split it into words; a path also contains `/`. */
function maskBase64(text: string): string {
  const mixed = /\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text);
  return mixed && (!text.includes('/') || /[+=]/.test(text)) ? '#' : text;
}

/** Words before a number that identifies the kind of an error: an HTTP status, the exit code of a process. */
const STATUS_BEFORE =
  /(?:\bHTTP(?:\/\d(?:\.\d)?)?|\bstatus|\bcode|\bSQLSTATE|\berrno|\bsignal|\bresponse|\banswered|\breturned|\bresponded with|\bfailed with)"?[ :=([]{1,2}$/i;
const REPLY_BEFORE = /(?:^|[:(\])] ?)$/;
const REPLY_AFTER = /^ (?:\d\.\d+\.\d|[A-Z][a-z]{2}|\{)/;
const COUNTED = /^ [a-z]{3,}s\b/;

function maskWord(word: string, at: number, whole: string): string {
  if (!isVariable(word)) return word;
  return isStatus(word, at, whole) ? word : '#';
}

function isStatus(word: string, at: number, whole: string): boolean {
  if (!/^(?:-?\d{1,3}|[0-9A-Z]{5})$/.test(word)) return false;
  const before = whole.slice(Math.max(0, at - AROUND), at);
  const after = whole.slice(at + word.length, at + word.length + AROUND);
  if (word.length === 5) return /SQLSTATE[ :=([]{1,2}$/.test(before);
  if (/^[45]\d\d$/.test(word) && REPLY_BEFORE.test(before) && REPLY_AFTER.test(after)) return true;
  return STATUS_BEFORE.test(before) && !COUNTED.test(after);
}

/** Returns whether a word is an id rather than a word of a language or of a program. */
function isVariable(word: string): boolean {
  if (/\p{N}/u.test(word)) return !isConstant(word);
  if (word.includes('***')) return true;
  return word.split(/[_-]/).some((part) => /^[0-9a-f]{8,}$/i.test(part) || hasRandomCase(part));
}

/** Returns whether a word is the name of a constant that contains a digit, such as `NGHTTP2_REFUSED_STREAM`. */
function isConstant(word: string): boolean {
  const parts = word.split('_');
  return (
    word.length < 80 &&
    parts.length > 1 &&
    parts.every((part) => /^[A-Z]+\d?[A-Z]*$/.test(part)) &&
    parts.filter((part) => /^[A-Z]{4,}$/.test(part)).length > 0
  );
}

/** Returns whether upper and lower case alternate as they do in no name: a base 62 id can lack digits. */
function hasRandomCase(word: string): boolean {
  const humps = word.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
  if (word.length < 6 || humps.length < 3) return false;
  const odd = humps.filter((hump) => hump.length < 3 || !/[aeiouy]/i.test(hump) || /[^aeiouy]{4}/i.test(hump));
  const mean = word.length / humps.length;
  return mean < 3.2 || odd.length * 2 >= humps.length || (word.length >= 12 && humps.length > 3 && mean < 3.8);
}
