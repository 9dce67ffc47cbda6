import { describe, expect, it, vi } from 'vitest';
import type { AgentPhase } from '../../../router/src/core/hosting/agent-life.ts';
import type { AccountView, ClusterView, NodeView } from '../../../router/src/core/ports/cluster.ts';
import type { MessageLog, OpenWork } from '../../../router/src/core/ports/message-log.ts';
import { createMetrics } from '../../../router/src/features/stats/metrics.ts';
import { systemClock } from '../../../router/src/infra/clock/system-clock.ts';
import { FakeAccounts } from '../../doubles/fake-accounts.ts';
import { FakeMessageLog } from '../../doubles/fake-message-log.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function setup() {
  const messageLog = new FakeMessageLog();
  const counts = vi.spyOn<MessageLog, 'openWork'>(messageLog, 'openWork');
  const clock = { nowMs: 1_000 };
  const phases = new Map<AgentPhase, number>();
  const disk = { failure: undefined as Error | undefined };
  const metrics = createMetrics({
    messageLog,
    agentPhases: () => phases,
    diskSpace: async () => {
      if (disk.failure) throw disk.failure;
      return { freeBytes: 25, sizeBytes: 100 };
    },
    monotonicMs: () => clock.nowMs,
  });
  const accounts = new FakeAccounts();
  const view: ClusterView = { nodes: [], accounts: [] };
  const scrape = async () => {
    const { contentType, text } = await metrics.scrape(accounts, view);
    return { contentType, text, lines: text.split('\n') };
  };
  return { messageLog, counts, clock, metrics, accounts, view, phases, disk, scrape };
}

const empty: OpenWork = {
  messages: 0,
  oldestMessageMs: 0,
  replies: { queued: 1 },
  unacknowledged: 0,
  deadLetters: 0,
  webhookEvents: 0,
};

describe('the metrics of the disk', () => {
  it('are absent while the data folder cannot be read', async () => {
    const { disk, scrape } = setup();
    expect((await scrape()).lines).toContain('wa2ai_data_dir_free_bytes 25');
    disk.failure = new Error('ENOENT');
    const { lines } = await scrape();
    expect(lines.filter((line) => line.startsWith('wa2ai_data_dir_'))).toEqual([]);
  });
});

describe('the metrics of messages', () => {
  it('count messages, replies, dead letters, turns and account states', async () => {
    const { metrics, accounts, phases, scrape } = setup();
    phases.set('ready', 2);
    accounts.set();
    accounts.set({ accountId: 'sales', state: 'waiting' });
    metrics.observeTurn({ state: 'answered', agentMs: 700, routeId: 'r1' }, 'sales');
    metrics.observeTurn({ state: 'dead', reason: 'AGENT_TIMEOUT', agentMs: 30_000, routeId: 'r1' }, 'sales');
    metrics.observeTurn({ state: 'ignored', reason: 'no-route' }, 'default');
    metrics.observeReceived('sales');
    metrics.observeSent('sales');
    metrics.observeSent('sales');
    metrics.observeResendRefused('sales');
    metrics.observeCircuitOpened();
    const { contentType, text, lines } = await scrape();
    expect(contentType).toMatch(/^text\/plain/);
    for (const line of [
      'wa2ai_messages_waiting 3',
      'wa2ai_oldest_message_seconds 61.5',
      'wa2ai_replies_waiting{state="queued"} 1',
      'wa2ai_replies_waiting{state="sent"} 2',
      'wa2ai_replies_unacknowledged 2',
      'wa2ai_dead_letters 4',
      'wa2ai_database_up 1',
      'wa2ai_hosted_agents{state="ready"} 2',
      'wa2ai_hosted_agents{state="failed"} 0',
      'wa2ai_circuits_opened_total 1',
      'wa2ai_resends_refused_total{account="sales"} 1',
      'wa2ai_account_state{account="default",state="open"} 1',
      'wa2ai_account_state{account="default",state="waiting"} 0',
      'wa2ai_account_state{account="sales",state="waiting"} 1',
      'wa2ai_messages_received_total{account="sales"} 1',
      'wa2ai_messages_sent_total{account="sales"} 2',
      'wa2ai_turns_total{account="sales",route="r1",state="answered",reason=""} 1',
      'wa2ai_turns_total{account="sales",route="r1",state="dead",reason="AGENT_TIMEOUT"} 1',
      'wa2ai_turns_total{account="default",route="",state="ignored",reason="no-route"} 1',
      'wa2ai_agent_turn_seconds_bucket{le="0.5",route="r1",state="answered"} 0',
      'wa2ai_agent_turn_seconds_bucket{le="1",route="r1",state="answered"} 1',
      'wa2ai_agent_turn_seconds_count{route="r1",state="dead"} 1',
    ]) {
      expect(lines).toContain(line);
    }
    expect(text).toContain('nodejs_eventloop_lag_seconds');
    expect(text).toContain('process_resident_memory_bytes');
  });

  it('count a turn without an agent, and observe no time for it', async () => {
    const { metrics, scrape } = setup();
    metrics.observeTurn({ state: 'ignored', reason: 'no-route' });
    const { text, lines } = await scrape();
    expect(lines).toContain('wa2ai_turns_total{account="",route="",state="ignored",reason="no-route"} 1');
    expect(text).not.toMatch(/^wa2ai_agent_turn_seconds_count\{/m);
  });

  it('have at most 100 series per label, whatever the number of routes and accounts', async () => {
    const { metrics, scrape } = setup();
    for (let n = 0; n < 300; n++) {
      metrics.observeTurn({ state: 'answered', agentMs: 1, routeId: `r${n}` }, `account${n}`);
    }
    metrics.observeTurn({ state: 'answered', agentMs: 1, routeId: 'r0' }, 'account0');
    const { lines } = await scrape();
    const turns = lines.filter((line) => line.startsWith('wa2ai_turns_total{'));
    expect(turns).toHaveLength(101);
    expect(turns).toContain(
      'wa2ai_turns_total{account="other",route="other",state="answered",reason=""} 200',
    );
    expect(turns).toContain('wa2ai_turns_total{account="account0",route="r0",state="answered",reason=""} 2');
  });

  it('forget an account that was deleted and a state of replies that none is in', async () => {
    const { accounts, counts, clock, scrape } = setup();
    accounts.set({ accountId: 'sales' });
    await scrape();
    accounts.statuses.clear();
    clock.nowMs += 5_000;
    counts.mockResolvedValueOnce(empty);
    const { text, lines } = await scrape();
    expect(text).not.toContain('account="sales"');
    expect(lines.filter((line) => line.startsWith('wa2ai_replies_waiting{'))).toEqual([
      'wa2ai_replies_waiting{state="queued"} 1',
    ]);
  });
});

describe('the metrics of the database', () => {
  it('show an outage, and recover', async () => {
    const { messageLog, scrape } = setup();
    messageLog.failure = new Error('away');
    const away = await scrape();
    expect(away.lines).toContain('wa2ai_database_up 0');
    for (const name of ['messages_waiting', 'oldest_message_seconds', 'replies_waiting', 'dead_letters']) {
      expect(away.text).not.toMatch(new RegExp(`^wa2ai_${name}\\b`, 'm'));
    }
    messageLog.failure = undefined;
    expect((await scrape()).lines).toContain('wa2ai_database_up 1');
  });

  it('show a hung database after two seconds', async () => {
    const { counts, scrape } = setup();
    counts.mockReturnValue(new Promise(() => undefined));
    const time = new FakeClock();
    vi.spyOn(systemClock, 'sleep').mockImplementation((ms, signal) => time.sleep(ms, signal));
    const scraped = scrape();
    const ended = vi.fn();
    void scraped.then(ended);
    await time.advanceMs(1_999);
    expect(ended).not.toHaveBeenCalled();
    await time.advanceMs(1);
    expect((await scraped).lines).toContain('wa2ai_database_up 0');
  });

  it('are counted once for scrapes within five seconds', async () => {
    const { counts, clock, scrape } = setup();
    await scrape();
    clock.nowMs += 4_999;
    await scrape();
    expect(counts).toHaveBeenCalledTimes(1);
    clock.nowMs += 1;
    await scrape();
    expect(counts).toHaveBeenCalledTimes(2);
  });
});

describe('the metrics of the cluster', () => {
  const node = (change: Partial<NodeView>) =>
    ({ nodeId: 'n1', isAlive: true, turns: 3, ...change }) as NodeView;
  const account = (change: Partial<AccountView>) => ({ accountId: 'a', ...change }) as AccountView;

  it('show nodes with their turns, and none for a node that does not respond', async () => {
    const { view, scrape } = setup();
    view.nodes = [node({}), node({ nodeId: 'n2', isAlive: false, turns: 9 })];
    const { lines } = await scrape();
    for (const line of [
      'wa2ai_node_alive{node="n1"} 1',
      'wa2ai_node_turns{node="n1"} 3',
      'wa2ai_node_alive{node="n2"} 0',
      'wa2ai_node_turns{node="n2"} 0',
    ]) {
      expect(lines).toContain(line);
    }
    view.nodes = [node({})];
    expect((await scrape()).text).not.toContain('node="n2"');
  });

  it('show the epoch of leases that are in force', async () => {
    const { view, scrape } = setup();
    const owner = { nodeId: 'n1', epoch: 7n } as AccountView['owner'];
    view.accounts = [
      account({ owner, availability: 'owned' }),
      account({ accountId: 'b', owner, availability: 'free' }),
    ];
    const { text } = await scrape();
    expect(text.match(/^wa2ai_account_lease_epoch\{.*$/gm)).toEqual([
      'wa2ai_account_lease_epoch{account="a",node="n1"} 7',
    ]);
  });
});
