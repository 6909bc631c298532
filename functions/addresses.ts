import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { DeadLetter } from '../core/handler/chosen-outcome.ts';

/** Where a cloud machine finds its own credentials, which a job must not reach. */
const LINK_LOCAL = blockList(['169.254.0.0/16', 'fe80::/10', 'fd00:ec2::/32']);

/** All other addresses outside the public internet: loopback, private networks, and translations to them. */
const PRIVATE = blockList([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.0.0.0/24', '192.168.0.0/16'],
  ...['198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4'],
  ...['::/127', '64:ff9b::/96', '2002::/16', 'fc00::/7', 'ff00::/8'],
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
  if (!PRIVATE.check(address, family) || privateHosts.has(host)) return undefined;
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
