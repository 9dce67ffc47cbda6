import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { Agent, buildConnector } from 'undici';
import { type Said, say } from '../../../core/phrases.ts';

/**
 * Which addresses agents may be at. `private`: all but cloud metadata and link-local addresses · `public`: only public
 * addresses · `any`: every address.
 */
export type EgressPolicy = 'any' | 'private' | 'public';

/** An address that is refused; the sentence says why. */
export class EgressRefusedError extends Error {
  readonly said: Said;

  constructor(said: Said) {
    super(said.sentence);
    this.said = said;
  }
}

type Subnet = [network: string, prefix: number];

/** Addresses where a cloud machine gets its credentials, and link-local addresses. */
const METADATA_NETWORKS: Subnet[] = [
  ['169.254.0.0', 16],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32],
  ['fe80::', 10],
  ['fd00:ec2::', 32],
  ['fd20:ce::', 32],
];
const METADATA = blockList(METADATA_NETWORKS);

const LOOPBACK = blockList([
  ['127.0.0.0', 8],
  ['::1', 128],
]);

/**
 * IPv4 addresses that are not globally reachable, and multicast: the IANA IPv4 Special-Purpose Address Registry
 * (https://www.iana.org/assignments/iana-ipv4-special-registry), its deprecated 6to4 relays (RFC 7526), RFC 1112.
 */
const NOT_PUBLIC_IPV4_NETWORKS: Subnet[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];
const NOT_PUBLIC_IPV4 = blockList(NOT_PUBLIC_IPV4_NETWORKS);

/** What IANA gives out as IPv6 global unicast addresses (RFC 4291, https://www.iana.org/assignments/ipv6-address-space). */
const GLOBAL_IPV6 = blockList([['2000::', 3]]);

/**
 * Of these, what is not globally reachable, and tunnels, which reach an IPv4 address that the prefix does not show: the
 * IANA IPv6 Special-Purpose Address Registry (https://www.iana.org/assignments/iana-ipv6-special-registry).
 */
const NOT_PUBLIC_IPV6_NETWORKS: Subnet[] = [
  // IETF protocol assignments: Teredo, benchmarking, ORCHID and others.
  ['2001::', 23],
  ['2001:db8::', 32],
  // 6to4.
  ['2002::', 16],
  ['3fff::', 20],
];
const NOT_PUBLIC_IPV6 = blockList(NOT_PUBLIC_IPV6_NETWORKS);

/** All networks that are not public, and those of cloud metadata, such as `10.0.0.0/8`. */
export const NOT_PUBLIC_NETWORKS: readonly string[] = [
  ...METADATA_NETWORKS,
  ...NOT_PUBLIC_IPV4_NETWORKS,
  ...NOT_PUBLIC_IPV6_NETWORKS,
  // What is not a global unicast address.
  ...([
    ['::', 3],
    ['4000::', 2],
    ['8000::', 1],
  ] satisfies Subnet[]),
].map(([network, prefix]) => `${network}/${prefix}`);

/**
 * IPv6 prefixes that carry an IPv4 address, with the group where it begins. Packets to those that are `translated` arrive
 * at the IPv4 address, so it alone decides (NAT64, RFC 6052, and IPv4-mapped).
 */
const CARRIERS: Array<{ prefix: string; at: number; isTranslated?: true }> = [
  { prefix: '64:ff9b:0:0:0:0', at: 6, isTranslated: true },
  { prefix: '0:0:0:0:0:ffff', at: 6, isTranslated: true },
  // NAT64 of a local network (RFC 8215), in the form of 96 bits.
  { prefix: '64:ff9b:1', at: 6 },
  // SIIT (RFC 2765).
  { prefix: '0:0:0:0:ffff:0', at: 6 },
  { prefix: '2002', at: 1 },
  // IPv4-compatible.
  { prefix: '0:0:0:0:0:0', at: 6 },
];

/** Where this wa2ai listens, as its server says it. */
export interface OwnAddress {
  address: string;
  port: number;
}

/**
 * Decides which addresses requests of wa2ai may go to. A name is checked after it is resolved, and the connection uses
 * exactly the checked addresses, so a name that resolves differently the next time cannot pass the check. No policy allows
 * the address at which wa2ai itself listens: there, a request without a key may count as one of this machine.
 */
export class Egress {
  readonly #policy: EgressPolicy;
  readonly #resolve: typeof lookup;
  readonly #own: () => OwnAddress | undefined;
  /** Connects only to allowed addresses. It has no time limits: the caller's signal sets them. */
  readonly dispatcher: Agent;

  /**
   * @param resolve the resolver of the platform; another one in tests
   * @param own where wa2ai listens; undefined: nowhere
   */
  constructor(
    policy: EgressPolicy = 'private',
    resolve: typeof lookup = lookup,
    own: () => OwnAddress | undefined = () => undefined,
  ) {
    this.#policy = policy;
    this.#resolve = resolve;
    this.#own = own;
    const connect = buildConnector({ lookup: this.#lookup });
    this.dispatcher = new Agent({
      headersTimeout: 0,
      bodyTimeout: 0,
      // The resolver does not know the port, so a name that leads to wa2ai shows when it is connected, before anything is sent.
      connect: (options, done) =>
        connect(options, (error, socket) => {
          if (error) return done(error, null);
          const refusal = this.#ownRefusal(socket);
          if (refusal === undefined) return done(null, socket);
          socket.destroy();
          done(
            new EgressRefusedError(say('egress.leads-to', { host: options.hostname ?? '', why: refusal })),
            null,
          );
        }),
    });
  }

  /** The rule for an agent that wa2ai itself started: any address but that of wa2ai. */
  anywhere(): Egress {
    return new Egress('any', this.#resolve, this.#own);
  }

  /** Why this IP address is refused; undefined when it is allowed. */
  refusalOf(address: string): Said | undefined {
    if (this.#policy === 'any') return undefined;
    const carried = carriedIpv4(address);
    const candidates = carried ? [address, carried.ipv4] : [address];
    if (candidates.some((candidate) => isIn(METADATA, candidate))) {
      return say('egress.metadata', { address, policy: this.#policy });
    }
    if (this.#policy === 'public' && !isPublic(carried?.isTranslated ? carried.ipv4 : address)) {
      return say('egress.not-public', { address });
    }
    return undefined;
  }

  /** Why the host of this URL is refused, when it is an IP address; a name is checked when it is resolved. */
  refusalOfUrl(url: string): Said | undefined {
    if (!URL.canParse(url)) return undefined;
    const { hostname, port, protocol } = new URL(url);
    const host = hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) === 0) return undefined;
    const remotePort = Number(port) || (protocol === 'https:' ? 443 : 80);
    return this.#ownRefusal({ remoteAddress: host, remotePort }) ?? this.refusalOf(host);
  }

  /** That the other side is this wa2ai. */
  #ownRefusal({
    remoteAddress = '',
    remotePort,
  }: Pick<Socket, 'remoteAddress' | 'remotePort'>): Said | undefined {
    const own = this.#own();
    if (!own || remotePort !== own.port || !leadsTo(own.address, remoteAddress)) return undefined;
    return say('egress.own', { address: remoteAddress, port: remotePort });
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
        const why = this.refusalOf(addresses[0]?.address ?? '') ?? { sentence: '' };
        callback(new EgressRefusedError(say('egress.resolves-to', { host: hostname, why })), '');
      } else if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

/** Whether a connection to this address arrives at a server of this machine that listens at `listening`. */
function leadsTo(listening: string, address: string): boolean {
  const carried = carriedIpv4(address);
  const to = carried?.isTranslated ? carried.ipv4 : (address.split('%', 1)[0] as string);
  // The system connects "any address" to itself.
  if (to === listening || isAnyAddress(to)) return true;
  if (!isAnyAddress(listening)) return false;
  const local = Object.values(networkInterfaces()).flatMap((found = []) => found.map((each) => each.address));
  return isIn(LOOPBACK, to) || local.includes(to);
}

function isAnyAddress(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

/** Whether an address is globally reachable, by the registries of IANA. */
export function isPublic(address: string): boolean {
  if (familyOf(address) === 'ipv4') return isIP(address) !== 0 && !isIn(NOT_PUBLIC_IPV4, address);
  return isIn(GLOBAL_IPV6, address) && !isIn(NOT_PUBLIC_IPV6, address);
}

function blockList(subnets: readonly Subnet[]): BlockList {
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
function carriedIpv4(address: string): { ipv4: string; isTranslated: boolean } | undefined {
  if (isIP(address) !== 6) return undefined;
  const groups = groupsOf(address);
  const carrier = CARRIERS.find(({ prefix }) => `${groups.join(':')}:`.startsWith(`${prefix}:`));
  if (!carrier) return undefined;
  const digits = groups.slice(carrier.at, carrier.at + 2).map((group) => Number.parseInt(group, 16));
  const ipv4 = digits.flatMap((group) => [group >> 8, group & 0xff]).join('.');
  return { ipv4, isTranslated: carrier.isTranslated === true };
}

/** The eight groups of an IPv6 address, in hexadecimal without leading zeros. */
function groupsOf(address: string): string[] {
  // The platform's parser writes every spelling in one form; a zone such as %eth0 is not part of the address.
  const written = new URL(`http://[${address.split('%', 1)[0]}]`).hostname.slice(1, -1);
  const [head = '', tail] = written.split('::');
  const first = head === '' ? [] : head.split(':');
  if (tail === undefined) return first;
  const last = tail === '' ? [] : tail.split(':');
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => '0'), ...last];
}
