import { expect, it } from 'vitest';
import { faultOfAddress } from '../../functions/mail-address.ts';

it.each([
  'ada@example.com',
  'ada@example.xn--p1ai',
  'ada@xn--bcher-kva.example',
  'ada@bücher.example',
  'ada@пример.рф',
  'ada@例え。テスト',
  'bounce+ada=example.org@lists.example.com',
  'a/b@example.com',
  'user{1}@example.com',
  "a'@example.com",
  "!#$%&'*+-/=?^_`{|}~@example.com",
  '.a..b.@example.com',
  'ada@localhost',
  'ada@127.0.0.1',
  'jörg@example.com',
  '用户@例子.广告',
  'می‌خواهم@example.com',
  '😀@example.com',
  `${'a'.repeat(64)}@example.com`,
  `${'ü'.repeat(32)}@example.com`,
  `ada@${'a'.repeat(63)}.com`,
  `a@${`${'a'.repeat(49)}.`.repeat(5)}aa`,
])('accepts the address %s', (address) => {
  expect(faultOfAddress(address)).toBeUndefined();
});

const ONE_AT = 'must contain one @, as in ada@example.com';
const DOMAIN = 'must have a domain after the @: letters, digits and inner hyphens, at most 63 characters between dots';

it.each([
  ['', ONE_AT],
  ['ada', ONE_AT],
  ['ada@example.com, eve@example.com', ONE_AT],
  ['ada@example.com\r\nBcc: eve@example.com', ONE_AT],
  ['@example.com', 'must have a name before the @'],
  ['ada lovelace@example.com', 'must not contain " " before the @'],
  ['"ada"@example.com', String.raw`must not contain "\"" before the @`],
  ['<ada@example.com', 'must not contain "<" before the @'],
  ['ada\n@example.com', String.raw`must not contain "\n" before the @`],
  ['ada\u0085@example.com', 'must not contain "\u0085" before the @'],
  ['ada\u2028@example.com', 'must not contain "\u2028" before the @'],
  ['ada\u202e@example.com', 'must not contain "\u202e" before the @'],
  ['ada\ud800@example.com', String.raw`must not contain "\ud800" before the @`],
  [`${'a'.repeat(65)}@example.com`, 'must have at most 64 bytes before the @, has 65'],
  [`${'ü'.repeat(33)}@example.com`, 'must have at most 64 bytes before the @, has 66'],
  ['ada@', DOMAIN],
  ['ada@example..com', DOMAIN],
  ['ada@example.com.', DOMAIN],
  ['ada@x-.com', DOMAIN],
  ['ada@-x.com', DOMAIN],
  ['ada@bücher-.example', DOMAIN],
  ['ada@bü cher.example', DOMAIN],
  ['ada@example.com\n', DOMAIN],
  ['ada@exa_mple.com', DOMAIN],
  ['ada@ex%61mple.com', DOMAIN],
  ['ada@[127.0.0.1]', DOMAIN],
  ['ada@example.com>', DOMAIN],
  [`ada@${'a'.repeat(64)}.com`, DOMAIN],
  [`ada@${'ü'.repeat(63)}.com`, DOMAIN],
  [`a@${`${'a'.repeat(49)}.`.repeat(5)}aaa`, 'must have at most 254 bytes, has 255'],
])('refuses the address %j with the reason', (address, reason) => {
  expect(faultOfAddress(address)).toBe(reason);
});
