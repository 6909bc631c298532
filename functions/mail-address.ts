import { domainToASCII } from 'node:url';

/** Limits in RFC 5321, in octets. */
const LONGEST_NAME = 64;
const LONGEST_ADDRESS = 254;

/**
 * Matches a character of the part before the `@`: `atext`, the dot, and every character outside ASCII (RFC 6531) except
 * control characters, spaces and surrogates. The two joiners are allowed because words in some scripts contain them.
 */
const NAME_CHARACTER = /^(?:[\w.!#$%&'*+/=?^`{|}~-]|[^\0-\x7f\p{Cc}\p{Cf}\p{Cs}\p{Z}]|[\u200c\u200d])$/u;

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
/**
 * Matches a hyphen at either end of a label, which the conversion to ASCII would hide. The dots are those that the
 * conversion accepts.
 */
const OUTER_HYPHEN = /(?:^|[.。．｡])-|-(?:[.。．｡]|$)/u;

/**
 * Returns what is wrong with an email address, such as `must contain one @`; undefined for a valid address. Accepts
 * every address that a browser's email field accepts, and also names outside ASCII, which require a server with
 * SMTPUTF8. As in a browser, names in quotes and addresses in brackets are invalid.
 */
export function faultOfAddress(address: string): string | undefined {
  const [name = '', domain, ...others] = address.split('@');
  if (domain === undefined || others.length > 0) return 'must contain one @, as in ada@example.com';
  if (name === '') return 'must have a name before the @';
  const wrong = [...name].find((character) => !NAME_CHARACTER.test(character));
  if (wrong !== undefined) return `must not contain ${JSON.stringify(wrong)} before the @`;
  const nameBytes = Buffer.byteLength(name);
  if (nameBytes > LONGEST_NAME) return `must have at most ${LONGEST_NAME} bytes before the @, has ${nameBytes}`;
  const ascii = toAscii(domain);
  if (OUTER_HYPHEN.test(domain) || !ascii.split('.').every((label) => LABEL.test(label))) {
    return 'must have a domain after the @: letters, digits and inner hyphens, at most 63 characters between dots';
  }
  const bytes = nameBytes + 1 + ascii.length;
  return bytes > LONGEST_ADDRESS ? `must have at most ${LONGEST_ADDRESS} bytes, has ${bytes}` : undefined;
}

/**
 * Returns a domain in the form that DNS uses; `''` for an invalid domain. An ASCII domain stays unchanged, as in a
 * browser.
 */
function toAscii(domain: string): string {
  return /^[\0-\x7f]*$/.test(domain) ? domain : domainToASCII(domain);
}
