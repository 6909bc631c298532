import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkLiteralAddress } from '../../functions/addresses.ts';

const check = (address: string, privateHosts: string[] = []) => {
  const host = address.includes(':') ? `[${address}]` : address;
  checkLiteralAddress(host, new Set(privateHosts));
};

/** The first and last addresses of each block in IANA's registries of special-purpose addresses, and of multicast. */
const SPECIAL = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.31.196.0', '192.31.196.255'],
  ['192.52.193.0', '192.52.193.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['192.175.48.0', '192.175.48.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '239.255.255.255'],
  ['240.0.0.0', '255.255.255.255'],
  ['::', '::1'],
  ['::ffff:8.8.8.8', '::8.8.8.8'],
  ['::ffff:0:8.8.8.8', '64:ff9b::8.8.8.8'],
  ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['100::', '100::ffff:ffff:ffff:ffff'],
  ['100:0:0:1::', '100:0:0:1:ffff:ffff:ffff:ffff'],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
] as const;

it.each(SPECIAL)('refuses the special addresses from %s to %s unless the host is listed', (first, last) => {
  for (const address of [first, last]) {
    expect(() => check(address)).toThrow('is not a public address');
    expect(() => check(address, [address])).not.toThrow();
  }
});

it.each([
  ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...['128.0.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.0.3.0', '198.17.255.255', '198.20.0.0'],
  ...['203.0.112.255', '203.0.114.0', '223.255.255.255', '2000::', '2001:200::', '2001:4860:4860::8888'],
  ...['2003::', '2606:4700::1111', '2620:4f:8001::', '3ffe::', '3fff:1000::'],
])('allows the public address %s', (address) => {
  expect(() => check(address)).not.toThrow();
});

it.each([
  ...['169.254.0.0', '169.254.255.255', '::ffff:169.254.169.254', '::169.254.169.254', '::ffff:0:169.254.169.254'],
  ...['64:ff9b::169.254.169.254', '2002:a9fe:a9fe::1', 'fe80::1', 'febf::1', 'fd00:ec2::254'],
])('refuses the link-local address %s even if the host is listed', (address) => {
  expect(() => check(address, [address])).toThrow('is a link-local address');
});

it('refuses every IPv6 address outside 2000::/3', () => {
  const groups = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }).filter(([first = 0]) => first >> 13 !== 1);

  fc.assert(
    fc.property(groups, (parts) => {
      expect(() => check(parts.map((part) => part.toString(16)).join(':'))).toThrow(/is not a public|is a link-local/);
    }),
  );
});
