/**
 * Text that Postgres stores: NUL becomes U+2400, half a surrogate pair U+FFFD, and what is longer than `most`
 * characters is cut with a mark that tells how long it was.
 */
export function storable(text: string, most: number): string {
  const clean = (part: string) => part.replaceAll('\0', '\u2400').toWellFormed();
  if (text.length <= most) return clean(text);
  const mark = `… (cut, ${text.length} characters in all)`;
  return clean(text.slice(0, most - mark.length)) + mark;
}

/** The same for JSON text: its escapes of NUL and of lone surrogates, which jsonb refuses. */
export function storableJson(json: string): string {
  return json.replace(/\\u0000|\\ud[89ab][0-9a-f]{2}|\\ud[c-f][0-9a-f]{2}|\\\\/gi, (code) => {
    if (code === '\\\\') return code;
    return code.toLowerCase() === '\\u0000' ? '\u2400' : '\ufffd';
  });
}

/**
 * One line that a terminal shows and does not obey: line breaks and tabs become spaces, other control characters
 * U+FFFD, and what is longer than `most` characters is cut and ends with `…`.
 */
export function oneLine(text: string, most: number): string {
  const cut = text.length > most ? `${text.slice(0, most - 1)}…` : text;
  const line = cut.toWellFormed().replace(/[\t\r\n]+/g, ' ');
  return line.replace(/\p{Cc}/gu, '\ufffd');
}
