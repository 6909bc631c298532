/**
 * Returns the first `most` characters of text, or one less where the cut would split a surrogate pair. Always
 * well-formed: half a pair becomes U+FFFD.
 */
export function startOf(text: string, most: number): string {
  const isSplit = text.length > most && (text.codePointAt(most - 1) ?? 0) > 0xffff;
  return text.slice(0, isSplit ? most - 1 : most).toWellFormed();
}

/**
 * Returns text that Postgres can store: NUL becomes U+2400, half a surrogate pair becomes U+FFFD, and text longer than
 * `most` characters is cut and ends with its original length. `length` is that length if the text is cut already.
 */
export function storable(text: string, most: number, length = text.length): string {
  const clean = (part: string) => part.replaceAll('\0', '\u2400').toWellFormed();
  if (length <= most) return clean(text);
  const mark = `… (cut, ${length} characters in all)`;
  return clean(startOf(text, most - mark.length)) + mark;
}

/** Replaces the escapes of NUL and of lone surrogates in JSON text, which jsonb refuses. */
export function storableJson(json: string): string {
  return json.replace(/\\u0000|\\ud[89ab][0-9a-f]{2}|\\ud[c-f][0-9a-f]{2}|\\\\/gi, (code) => {
    if (code === '\\\\') return code;
    return code.toLowerCase() === '\\u0000' ? '\u2400' : '\ufffd';
  });
}

/** What can control a terminal: C0, DEL, C1, and the characters that change the direction of text. */
const CONTROLS = /[\p{Cc}\p{Bidi_Control}]/gu;

/**
 * Returns one line that cannot control a terminal: line breaks and tabs become spaces, other control characters become
 * U+FFFD, and text longer than `most` characters is cut and ends with `…`.
 */
export function oneLine(text: string, most: number): string {
  const cut = text.length > most ? `${startOf(text, most - 1)}…` : text;
  return visible(cut.toWellFormed().replace(/[\t\r\n]+/g, ' '));
}

/** Replaces what can control a terminal by U+FFFD, except tabs and line breaks, which become `\n`. */
export function visible(text: string): string {
  const keep = (code: string) => (code === '\n' || code === '\t' ? code : '\ufffd');
  return text.replaceAll('\r\n', '\n').replace(CONTROLS, keep);
}

/** Returns the same JSON with escapes for what can control a terminal: JSON allows DEL, C1 and bidi controls bare. */
export function visibleJson(json: string): string {
  const escaped = (code: string) => `\\u${code.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return json.replace(/[\u007f-\u009f\p{Bidi_Control}]/gu, escaped);
}

/** Returns whether Postgres stores the text: it refuses NUL and half a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Returns the text without the byte order mark that some editors and shells write first. */
export function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/** Returns the word that differs from the given one in at most a third of its letters; undefined without one. */
export function closest(given: string, words: readonly string[]): string | undefined {
  // No longer text is similar, even if it consists of surrogate pairs. A name in a request can be as long as the body.
  const comparable = words.filter((word) => given.length <= 6 * word.length);
  const near = comparable.map((word) => ({ word, changes: countChanges(given, word) }));
  const [best] = near.sort((one, other) => one.changes - other.changes);
  return best !== undefined && best.changes * 3 <= given.length ? best.word : undefined;
}

/** Returns how many letters must be added, removed or replaced to make one word of the other. */
function countChanges(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let at = 1; at <= other.length; at++) {
      const replaced = (row[at - 1] ?? 0) + (other[at - 1] === letter ? 0 : 1);
      next.push(Math.min(replaced, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}

/** Returns text as one word of a shell command. */
export function shellWord(text: string): string {
  return /^[\w.,:/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
