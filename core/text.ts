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

/**
 * Returns one line that cannot control a terminal: line breaks and tabs become spaces, other control characters become
 * U+FFFD, and text longer than `most` characters is cut and ends with `…`.
 */
export function oneLine(text: string, most: number): string {
  const cut = text.length > most ? `${text.slice(0, most - 1)}…` : text;
  const line = cut.toWellFormed().replace(/[\t\r\n]+/g, ' ');
  return line.replace(/\p{Cc}/gu, '\ufffd');
}
