/** Start of the password in an address, but not in our example; the characters before it may be mistyped. */
const START = /(?::\/[^:@]*|\/\/[^:@/]*):(?!password(?:@|$))/;
/** A password as a parameter of an address or of a connection string of libpq, up to the end of the argument. */
const PARAMETER = /(password=).*?(?=&|'(?:[\s.,]|$)|$)/gis;

/**
 * Masks the passwords in an error about an argument: it repeats what was typed, and a mistyped argument can contain an
 * address. An address is masked up to the last @ of the text, because a password can contain any character.
 */
export function withoutPasswords(text: string): string {
  const end = text.lastIndexOf('@');
  const start = START.exec(text.slice(0, Math.max(end, 0)));
  const masked = start ? `${text.slice(0, start.index)}${start[0]}***${text.slice(end)}` : text;
  return masked.replace(PARAMETER, '$1***');
}
