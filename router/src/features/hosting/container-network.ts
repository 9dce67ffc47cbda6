import { networkInterfaces } from 'node:os';
import type Dockerode from 'dockerode';
import { isPublic, NOT_PUBLIC_NETWORKS } from '../../infra/agents/transport/egress.ts';
import type { ContainerReach, ContainerSpec } from './container-engine.ts';

/** An image without programs. It is made on the engine's machine: no registry has it. */
export const NETWORK_IMAGE = 'wa2ai-network:1';

/** The folders of the engine's machine with `iptables` or `nft`, their libraries, and `sh`. */
const HOST_FOLDERS = ['/usr', '/lib', '/bin', '/sbin', ...(process.arch === 'x64' ? ['/lib64'] : [])];

/** The name of the container that has the network of another one. */
export function networkContainerOf(name: string): string {
  return `${name}-net`;
}

/**
 * A container that has the network of another one, with its published port and the right to load a firewall into it. It
 * runs `sleep` of the engine's machine, whose programs it sees read-only. The other container joins this network and has no
 * right over it, so its firewall is there before its first program runs.
 */
export function networkContainer(spec: ContainerSpec): Dockerode.ContainerCreateOptions {
  const { name, labels } = spec;
  // Another label than that of the container itself, which is listed by it.
  const own = Object.entries(labels).map(([label, value]) => [`${label}.network`, value]);
  return {
    name: networkContainerOf(name),
    Image: NETWORK_IMAGE,
    Entrypoint: ['/bin/sleep', '2147483647'],
    Env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'],
    Labels: Object.fromEntries(own),
    User: '0:0',
    ExposedPorts: exposedPortOf(spec),
    HostConfig: {
      Binds: HOST_FOLDERS.map((folder) => `${folder}:${folder}:ro`),
      ...networkSettingsOf(spec),
      RestartPolicy: { Name: 'no' },
      CapDrop: ['ALL'],
      CapAdd: ['NET_ADMIN'],
      // Folders of the machine have no label that SELinux gives a container.
      SecurityOpt: ['no-new-privileges', 'label=disable'],
      ReadonlyRootfs: true,
      // The lock of iptables.
      Tmpfs: { '/run': 'rw,size=1m' },
      Memory: 64 * 1024 * 1024,
      MemorySwap: 64 * 1024 * 1024,
      PidsLimit: 32,
    },
  };
}

/** Docker publishes no port without it. */
export function exposedPortOf({ port }: ContainerSpec): Record<string, object> {
  return { [`${port}/tcp`]: {} };
}

/** The settings of the container that is in the network itself. */
export function networkSettingsOf({ network, port }: ContainerSpec): Dockerode.HostConfig {
  return {
    NetworkMode: network,
    // An empty port: the engine chooses a free one. An empty address would be every address of the machine.
    PortBindings: { [`${port}/tcp`]: [{ HostIp: '127.0.0.1', HostPort: '' }] },
    // Without capabilities, a program that is not root may listen on port 80 only so.
    Sysctls: { 'net.ipv4.ip_unprivileged_port_start': '0' },
  };
}

/** Rules of a firewall for what a container sends, in the syntaxes of nft and of iptables-restore. */
interface Rule {
  family?: 4 | 6;
  nft: string;
  iptables: string;
}

const ANSWERS: Rule[] = [
  { nft: 'oifname "lo" accept', iptables: '-o lo -j ACCEPT' },
  {
    nft: 'ct state established,related accept',
    iptables: '-m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT',
  },
  // Neighbours, without which no packet finds its way.
  ...[133, 135, 136].map(
    (type): Rule => ({
      family: 6,
      nft: `icmpv6 type ${type} accept`,
      iptables: `-p icmpv6 --icmpv6-type ${type} -j ACCEPT`,
    }),
  ),
];

/** Names are resolved by the servers of the machine, whose addresses are often private. */
const DNS: Rule[] = ['udp', 'tcp'].map((protocol) => ({
  nft: `${protocol} dport 53 accept`,
  iptables: `-p ${protocol} --dport 53 -j ACCEPT`,
}));

/**
 * A program of `sh` that loads the firewall of a container into its network, and loads it once more without an effect. It
 * ends with an exit code that is not 0 when nothing could be loaded.
 * @param subnetPrefix the first two numbers of the addresses of agents' networks
 */
export function firewallScript(reach: Exclude<ContainerReach, 'any'>, subnetPrefix: string): string {
  const to = (network: string, verdict: 'accept' | 'reject'): Rule => {
    const family = network.includes(':') ? 6 : 4;
    return {
      family,
      nft: `${family === 6 ? 'ip6' : 'ip'} daddr ${network} ${verdict}`,
      iptables: `-d ${network} -j ${verdict.toUpperCase()}`,
    };
  };
  // Addresses of the machine that are public lead to it without passing what protects it from outside.
  const machine = Object.values(networkInterfaces())
    .flatMap((found = []) => found)
    .map(({ address }) => address.split('%', 1)[0] as string)
    .filter(isPublic);
  const rules =
    reach === 'none'
      ? [...ANSWERS, { nft: 'reject', iptables: '-j REJECT' }]
      : [
          ...ANSWERS,
          ...DNS,
          ...reach.map((network) => to(network, 'accept')),
          ...[`${subnetPrefix}.0.0/16`, ...NOT_PUBLIC_NETWORKS, ...machine].map((network) =>
            to(network, 'reject'),
          ),
        ];
  const nft = [
    'table inet wa2ai',
    'delete table inet wa2ai',
    'table inet wa2ai { chain output {',
    'type filter hook output priority 0; policy accept;',
    ...rules.map((rule) => rule.nft),
    '} }',
  ];
  const iptables = (family: 4 | 6) => [
    '*filter',
    ':OUTPUT ACCEPT',
    ...rules.filter((rule) => (rule.family ?? family) === family).map((rule) => `-A OUTPUT ${rule.iptables}`),
    'COMMIT',
  ];
  return `
load() {
  if command -v nft >/dev/null; then
    nft -f - <<'RULES' && return
${nft.join('\n')}
RULES
  fi
  for kind in xtables-nft-multi xtables-legacy-multi; do
    command -v $kind >/dev/null || continue
    $kind iptables-restore <<'RULES' || continue
${iptables(4).join('\n')}
RULES
    [ -e /proc/net/if_inet6 ] || return 0
    $kind ip6tables-restore <<'RULES' && return
${iptables(6).join('\n')}
RULES
  done
  echo 'the machine of the engine has neither nft nor iptables that work'
  return 1
}
load
`;
}
