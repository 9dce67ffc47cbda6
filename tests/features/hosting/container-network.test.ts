import { BlockList } from 'node:net';
import { describe, expect, it } from 'vitest';
import { firewallScript } from '../../../router/src/features/hosting/container-network.ts';

/** What the rules for addresses decide, the first that fits; nothing: the packet leaves. */
function verdictOf(script: string, rule: RegExp, address: string): string {
  const family = address.includes(':') ? 'ipv6' : 'ipv4';
  for (const [, network = '', prefix, verdict = ''] of script.matchAll(rule)) {
    if (network.includes(':') !== (family === 'ipv6')) continue;
    const list = new BlockList();
    list.addSubnet(network, Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family);
    if (list.check(address, family)) return verdict.toLowerCase();
  }
  return 'accept';
}

const SYNTAXES: Array<[string, RegExp]> = [
  ['nft', /^ip6? daddr ([\da-f.:]+)(?:\/(\d+))? (accept|reject)$/gm],
  ['iptables', /^-A OUTPUT -d ([\da-f.:]+)(?:\/(\d+))? -j (ACCEPT|REJECT)$/gm],
];

describe.each(SYNTAXES)('the firewall of a container, for %s', (_, rule) => {
  const script = firewallScript(['10.1.0.0/16', '192.168.7.7', 'fd00:5::/32'], '172.30');

  it.each([...['93.184.216.34', '1.1.1.1', '2606:4700::1111'], ...['10.1.2.3', '192.168.7.7', 'fd00:5::1']])(
    'lets packets to %s leave',
    (address) => {
      expect(verdictOf(script, rule, address)).toBe('accept');
    },
  );

  it.each([
    ...['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254'],
    ...['10.2.0.1', '172.16.0.1', '192.168.7.8', '100.64.0.1', '127.0.0.1', '0.0.0.0', '224.0.0.251'],
    ...['172.30.4.1', 'fe80::1', 'ff02::1', 'fd00:6::1', '::1', '64:ff9b::a00:1', '2002:a00:1::'],
  ])('refuses packets to %s', (address) => {
    expect(verdictOf(script, rule, address)).toBe('reject');
  });

  it('accepts no address by a rule when no network is allowed', () => {
    const verdicts = [...firewallScript([], '10.213').matchAll(rule)].map(([, , , verdict = '']) => verdict);
    expect(new Set(verdicts.map((verdict) => verdict.toLowerCase()))).toEqual(new Set(['reject']));
  });
});

it('the firewall of a container without a network refuses all but answers, name servers too', () => {
  const script = firewallScript('none', '10.213');
  expect(script).not.toContain('53');
  expect(script).not.toContain('daddr');
  expect(script.match(/^reject$/gm)).toHaveLength(1);
  expect(script.match(/^-A OUTPUT -j REJECT$/gm)).toHaveLength(2);
});
