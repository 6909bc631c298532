import { domainToASCII } from 'node:url';

/** Limits of RFC 5321, in octets. */
const LONGEST_NAME = 64;
const LONGEST_ADDRESS = 254;

/**
 * A character of the part before the `@`: `atext` and the dot, and outside of ASCII (RFC 6531) all but controls, spaces
 * and surrogates. The joiners are part of words in some scripts.
 */
const NAME_CHARACTER = /^(?:[\w.!#$%&'*+/=?^`{|}~-]|[^\0-\x7f\p{Cc}\p{Cf}\p{Cs}\p{Z}]|[\u200c\u200d])$/u;

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
/** A hyphen at an end of a label, which the conversion to ASCII would hide; with the dots that it converts. */
const OUTER_HYPHEN = /(?:^|[.。．｡])-|-(?:[.。．｡]|$)/u;

/**
 * Returns what is wrong with an email address, such as `must contain one @`; undefined for a valid address. Accepts
 * what the email field of a browser accepts, and names outside of ASCII, which require a server with SMTPUTF8. As in
 * a browser, names in quotes and addresses in brackets are refused.
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
    return 'must have a domain after the @: letters, digits and inner hyphens, at most 63 between two dots';
  }
  const bytes = nameBytes + 1 + ascii.length;
  return bytes > LONGEST_ADDRESS ? `must have at most ${LONGEST_ADDRESS} bytes, has ${bytes}` : undefined;
}

/** Returns a domain as DNS has it, `''` for an invalid one. An ASCII domain stays as it is, as in a browser. */
function toAscii(domain: string): string {
  return /^[\0-\x7f]*$/.test(domain) ? domain : domainToASCII(domain);
}
