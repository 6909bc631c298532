import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { DeadLetter } from '../core/handler/chosen-outcome.ts';

/**
 * The addresses at which a cloud machine provides its credentials, which a job must not reach, including IPv4 addresses
 * translated to IPv6.
 */
const LINK_LOCAL = blockList([
  ...['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::/32'],
  ...['::169.254.0.0/112', '::ffff:0:169.254.0.0/112', '64:ff9b::169.254.0.0/112', '2002:a9fe::/32'],
]);

/** Global unicast addresses of IPv6; all addresses outside this block are special. */
const GLOBAL_IPV6 = blockList(['2000::/3']);

/**
 * The blocks in IANA's registries of special-purpose addresses, and multicast; for IPv6, only the blocks within
 * 2000::/3.
 */
const SPECIAL = blockList([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'],
]);

/**
 * Returns a host name lookup for `http.request` that allows public addresses, and private ones for `privateHosts`. It
 * checks the address that `http.request` then connects to, so a name that changes its address cannot bypass it.
 */
export function guardedLookup(privateHosts: ReadonlySet<string>): LookupFunction {
  return (host, options, callback) =>
    lookup(host, { ...options, all: true }, (error, found) => {
      const refused = error ?? found.map(({ address }) => refusal(host, address, privateHosts)).find(Boolean);
      if (refused) return callback(refused, '', 0);
      const [first] = found;
      if (options.all || !first) return callback(null, found);
      callback(null, first.address, first.family);
    });
}

/** Checks a host that is an IP address, to which Node connects without a lookup. */
export function checkLiteralAddress(host: string, privateHosts: ReadonlySet<string>): void {
  const address = host.replace(/^\[|\]$/g, '');
  const refused = isIP(address) ? refusal(address, address, privateHosts) : undefined;
  if (refused) throw refused;
}

function refusal(host: string, address: string, privateHosts: ReadonlySet<string>): DeadLetter | undefined {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (LINK_LOCAL.check(address, family)) return new DeadLetter(`${host}: ${address} is a link-local address`);
  const isGlobal = family === 'ipv4' || GLOBAL_IPV6.check(address, family);
  if ((isGlobal && !SPECIAL.check(address, family)) || privateHosts.has(host)) return undefined;
  return new DeadLetter(`${host}: ${address} is not a public address, and the host is not in THUMBNAIL_PRIVATE_HOSTS`);
}

function blockList(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network = '', prefix] = subnet.split('/');
    list.addSubnet(network, Number(prefix), isIP(network) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
