/**
 * Returns text that Postgres can store: NUL becomes U+2400, half a surrogate pair becomes U+FFFD, and text longer than
 * `most` characters is cut and ends with its original length.
 */
export function storable(text: string, most: number): string {
  const clean = (part: string) => part.replaceAll('\0', '\u2400').toWellFormed();
  if (text.length <= most) return clean(text);
  const mark = `… (cut, ${text.length} characters in all)`;
  return clean(text.slice(0, most - mark.length)) + mark;
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
  const cut = text.length > most ? `${text.slice(0, most - 1)}…` : text;
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
