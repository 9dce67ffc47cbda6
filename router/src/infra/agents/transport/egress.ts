import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Agent } from 'undici';

/**
 * Which addresses agents may be at. `private`: all but cloud metadata and link-local addresses · `public`: only public
 * addresses · `any`: every address.
 */
export type EgressPolicy = 'any' | 'private' | 'public';

/** An address that the policy refuses; the sentence names the setting. */
export class EgressRefusedError extends Error {}

/** Addresses where a cloud machine gets its credentials, and link-local addresses. */
const METADATA = blockList([
  ['169.254.0.0', 16],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32],
  ['fe80::', 10],
  ['fd00:ec2::', 32],
  ['fd20:ce::', 32],
]);

/** Everything that is not globally reachable (IANA special-purpose registries), and multicast. */
const NOT_PUBLIC = blockList([
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
  ['::', 127],
  ['100::', 64],
  ['2001:db8::', 32],
  ['fc00::', 7],
  ['fec0::', 10],
  ['ff00::', 8],
]);

/** IPv6 prefixes that carry an IPv4 address, with the group where it begins: NAT64, 6to4, IPv4-mapped and -compatible. */
const CARRIERS: Array<{ prefix: string; at: number }> = [
  { prefix: '64:ff9b:0:0:0:0', at: 6 },
  { prefix: '2002', at: 1 },
  { prefix: '0:0:0:0:0:ffff', at: 6 },
  { prefix: '0:0:0:0:0:0', at: 6 },
];

/**
 * Decides which addresses requests to agents may go to. A name is checked after it is resolved, and the connection uses
 * exactly the checked addresses, so a name that resolves differently the next time cannot pass the check.
 */
export class Egress {
  readonly #policy: EgressPolicy;
  readonly #resolve: typeof lookup;
  /** Connects only to allowed addresses. It has no time limits: the caller's signal sets them. */
  readonly dispatcher: Agent;

  /** @param resolve the resolver of the platform; another one in tests */
  constructor(policy: EgressPolicy = 'private', resolve: typeof lookup = lookup) {
    this.#policy = policy;
    this.#resolve = resolve;
    this.dispatcher = new Agent({
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { lookup: this.#lookup },
    });
  }

  /** Why this IP address is refused; undefined when it is allowed. */
  refusalOf(address: string): string | undefined {
    if (this.#policy === 'any') return undefined;
    const candidates = [address, ...carriedIpv4(address)];
    if (candidates.some((candidate) => isIn(METADATA, candidate))) {
      return `${address} is a cloud metadata or link-local address, which WA2AI_EGRESS=${this.#policy} refuses`;
    }
    if (this.#policy === 'public' && candidates.some((candidate) => isIn(NOT_PUBLIC, candidate))) {
      return `${address} is not a public address, and WA2AI_EGRESS=public refuses all others`;
    }
    return undefined;
  }

  /** Why the host of this URL is refused, when it is an IP address; a name is checked when it is resolved. */
  refusalOfUrl(url: string): string | undefined {
    if (!URL.canParse(url)) return undefined;
    const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
    return isIP(host) === 0 ? undefined : this.refusalOf(host);
  }

  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    this.#resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) {
        callback(error, '');
        return;
      }
      const allowed = addresses.filter(({ address }) => this.refusalOf(address) === undefined);
      const [first] = allowed;
      if (!first) {
        const reason = this.refusalOf(addresses[0]?.address ?? '');
        callback(new EgressRefusedError(`${hostname} resolves to ${reason}`), '');
      } else if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

function blockList(subnets: Array<[network: string, prefix: number]>): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of subnets) list.addSubnet(network, prefix, familyOf(network));
  return list;
}

function isIn(list: BlockList, address: string): boolean {
  return isIP(address) !== 0 && list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}

/** The IPv4 address inside an IPv6 address; none for any other. */
function carriedIpv4(address: string): string[] {
  if (isIP(address) !== 6) return [];
  const groups = groupsOf(address);
  const carrier = CARRIERS.find(({ prefix }) => `${groups.join(':')}:`.startsWith(`${prefix}:`));
  if (!carrier) return [];
  const digits = groups.slice(carrier.at, carrier.at + 2).map((group) => Number.parseInt(group, 16));
  return [digits.flatMap((group) => [group >> 8, group & 0xff]).join('.')];
}

/** The eight groups of an IPv6 address, in hexadecimal without leading zeros. */
function groupsOf(address: string): string[] {
  // The platform's parser writes every spelling in one form; a zone such as %eth0 is not part of the address.
  const written = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const [head = '', tail] = written.split('::');
  const first = head === '' ? [] : head.split(':');
  if (tail === undefined) return first;
  const last = tail === '' ? [] : tail.split(':');
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => '0'), ...last];
}
