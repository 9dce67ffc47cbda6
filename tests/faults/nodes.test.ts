import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { startAbiServer } from '../fixtures/abi-agent-server.js';
import { startNodeCluster } from '../support/node-cluster.ts';
import type { Nodes } from '../support/nodes.ts';
import { newNumber, type TestBed } from '../support/test-bed.ts';
import { createPhone } from '../whatsapp-emulator/phone.ts';

/** The default of the service. */
const TTL_MS = 15_000;
/** For a test that waits for its end; a node that is busy for that long counts as paused. */
const SHORT_TTL_MS = 4_000;
/** A lease that does not expire during a test. */
const LONG_TTL_MS = 60_000;

let bed: TestBed;
let nodes: Nodes;
afterEach(async () => {
  await nodes.endAll('SIGKILL');
  await bed.close();
});

/** The owner, paired and with a route for every chat. */
async function paired(names: string[], agent: string[] = [], ttlMs = TTL_MS): Promise<string> {
  ({ bed, nodes } = await startNodeCluster(names, { agent, env: { WA2AI_LEASE_TTL: `${ttlMs}ms` } }));
  await nodes.pair(bed.phone);
  await nodes.any().addRoute('*', bed.agent.url);
  return nodes.untilOwned();
}

describe('Several nodes on one database', () => {
  it('run an account on exactly one node, run turns on all nodes, and show the account on all', async () => {
    const owner = await paired(['n1', 'n2', 'n3'], ['--delay-ms', '400']);
    for (const name of ['n1', 'n2', 'n3']) {
      expect(await nodes.ownersOf('default', nodes.node(name))).toEqual([owner]);
      // The others read the state that the owner stores.
      await nodes.untilOpen('default', nodes.node(name));
      expect(await nodes.account('default', nodes.node(name))).toMatchObject({ node: owner });
      const ready = await nodes.node(name).api('GET', '/health/ready');
      expect(ready).toMatchObject({
        status: 200,
        body: { node: name, accounts: name === owner ? ['default'] : [] },
      });
      const metrics = await (await fetch(`${nodes.node(name).url}/metrics`)).text();
      expect(metrics).toContain(`wa2ai_account_lease_epoch{account="default",node="${owner}"}`);
      for (const each of ['n1', 'n2', 'n3']) expect(metrics).toContain(`wa2ai_node_alive{node="${each}"} 1`);
    }
    const people = Array.from({ length: 24 }, () => bed.person());
    for (const text of ['one', 'two']) {
      await Promise.all(people.map((person) => person.say(text, { to: bed.phone })));
    }
    for (const person of people) {
      const bubbles = await person.waitForReceived(2, 60_000);
      expect(bubbles.map((bubble) => bubble.text)).toEqual(['Echo: one', 'Echo: two']);
    }
    // A log line can arrive after the reply.
    const sum = () => Object.values(nodes.turnsEnded()).reduce((total, count) => total + count, 0);
    await expect.poll(sum).toBe(48);
    expect(Object.values(nodes.turnsEnded()).every((count) => count > 0)).toBe(true);
    expect(bed.emulator.linkedDevices(bed.phone.pn)).toHaveLength(1);
  });

  it('receive and send files on all nodes, while only the owner uploads, and its successor uploads what remained', async () => {
    const owner = await paired(['n1', 'n2', 'n3']);
    const { mediaHost } = bed.emulator;
    const mirror = await startAbiServer({ methods: ['mirror'], answer: (calldata) => calldata.subarray(4) });
    mirror.change({ delayMs: 400 });
    await nodes.any().addRoute('*', mirror.url, {
      priority: 1,
      config: {
        adk: undefined,
        abi: {
          functions: ['function mirror(bytes data) returns (bytes same)'],
          output: { image: '{{same}}' },
        },
      },
    });
    const people = Array.from({ length: 18 }, () => ({ person: bed.person(), bytes: randomBytes(20_000) }));
    await Promise.all(
      people.map(({ person, bytes }) => person.say(mediaHost.message('image', bytes), { to: bed.phone })),
    );
    for (const { person, bytes } of people) {
      expect(mediaHost.open((await person.nextReply(60_000)).message)).toEqual(bytes);
    }
    expect(Object.values(nodes.turnsEnded()).every((count) => count > 0)).toBe(true);

    const [{ person, bytes }] = people as [(typeof people)[number]];
    mediaHost.faults.failedUploads = Number.MAX_SAFE_INTEGER;
    const isWaiting = nodes
      .node(owner)
      .untilLog((line) => line.msg === 'file of a reply not uploaded, retrying');
    await person.say(mediaHost.message('document', bytes), { to: bed.phone });
    await isWaiting;
    await nodes.end(owner, 'SIGKILL');
    mediaHost.faults.failedUploads = 0;
    expect(mediaHost.open((await person.nextReply(60_000)).message)).toEqual(bytes);
    expect(person.received).toHaveLength(2);
    expect(people.every((each) => each.person.received.every(({ repeats }) => repeats === 0))).toBe(true);
    await mirror.close();
  });

  it('replace a killed owner before its lease expires, and answer every message once and in order', async () => {
    const owner = await paired(['n1', 'n2', 'n3'], ['--delay-ms', '300'], LONG_TTL_MS);
    const [ana, bo] = [bed.person(), bed.person({ via: 'lid' })];
    await ana.say('before', { to: bed.phone });
    await ana.nextReply();
    await bo.say('under way', { to: bed.phone });
    const live = bed.emulator.waitFor('live', undefined, LONG_TTL_MS / 2);
    const killedAtMs = performance.now();
    await nodes.end(owner, 'SIGKILL');
    await ana.say('after', { to: bed.phone });
    await live;
    const tookMs = performance.now() - killedAtMs;
    const successor = await nodes.untilOwned('default', [owner]);
    expect(successor).not.toBe(owner);
    expect((await ana.nextReply()).text).toBe('Echo: after');
    expect((await bo.nextReply()).text).toBe('Echo: under way');
    await bo.say('and on', { to: bed.phone });
    expect((await bo.nextReply()).text).toBe('Echo: and on');
    expect(ana.received.map((bubble) => bubble.text)).toEqual(['Echo: before', 'Echo: after']);
    console.log(`a killed owner was replaced after ${Math.round(tookMs)} ms`);
  });

  it('replace a paused owner, which writes nothing and closes its socket when it resumes', async () => {
    const owner = await paired(['n1', 'n2'], [], SHORT_TTL_MS);
    const paused = nodes.node(owner);
    const ana = bed.person();
    await ana.say('before', { to: bed.phone });
    await ana.nextReply();
    const live = bed.emulator.waitFor('live', undefined, 60_000);
    process.kill(paused.pid, 'SIGSTOP');
    const stoppedAtMs = performance.now();
    try {
      await live;
      const tookMs = performance.now() - stoppedAtMs;
      console.log(
        `a paused owner was replaced after ${Math.round(tookMs)} ms with a lease of ${SHORT_TTL_MS} ms`,
      );
      expect(tookMs).toBeGreaterThan(SHORT_TTL_MS / 2);
      await ana.say('meanwhile', { to: bed.phone });
      expect((await ana.nextReply()).text).toBe('Echo: meanwhile');
    } finally {
      process.kill(paused.pid, 'SIGCONT');
    }
    const lost = await paused.untilLog((line) => line.msg.startsWith('account lost'));
    expect(lost).toMatchObject({ accountId: 'default' });
    await paused.untilLog((line) => line.msg === 'account state' && line.state === 'stopped');
    const successor = await nodes.untilOwned('default', [owner]);
    for (const text of ['still here', 'and here']) {
      await ana.say(text, { to: bed.phone });
      expect((await ana.nextReply()).text).toBe(`Echo: ${text}`);
    }
    // the resumed node sees the same, and has not opened a socket again
    await expect.poll(() => nodes.ownersOf('default', paused)).toEqual([successor]);
    expect(await nodes.account('default', nodes.node(successor))).toMatchObject({ state: 'open' });
    expect(ana.received.map((bubble) => bubble.text)).toEqual(
      ['before', 'meanwhile', 'still here', 'and here'].map((text) => `Echo: ${text}`),
    );
  });

  it('take over the turns of a killed node in the order of each chat', async () => {
    const owner = await paired(['n1', 'n2'], ['--delay-ms', '1500']);
    const other = owner === 'n1' ? 'n2' : 'n1';
    const people = Array.from({ length: 12 }, () => bed.person());
    for (const person of people) await person.say('one', { to: bed.phone });
    await expect
      .poll(async () => (await nodes.shown()).find(({ nodeId }) => nodeId === other)?.turns)
      .toBeGreaterThan(0);
    await nodes.end(other, 'SIGKILL');
    for (const person of people) await person.say('two', { to: bed.phone });
    for (const person of people) {
      const bubbles = await person.waitForReceived(2, 60_000);
      expect(bubbles.map((bubble) => bubble.text)).toEqual(['Echo: one', 'Echo: two']);
    }
    await nodes.node(owner).untilLog((line) => line.msg === 'restarting chat workers');
  });

  it('lose no message and send no reply twice during a rolling restart under load', async () => {
    await paired(['n1', 'n2', 'n3'], ['--delay-ms', '200']);
    const people = Array.from({ length: 6 }, () => bed.person());
    const said: string[] = [];
    let isOver = false;
    const talk = (async () => {
      for (let line = 0; (!isOver || line < 8) && line < 200; line++) {
        said.push(`line ${line}`);
        await Promise.all(people.map((person) => person.say(`line ${line}`, { to: bed.phone })));
        // The next line follows the answer to the one before, as people do.
        await people[0]?.waitForReceived(line + 1, 60_000);
      }
    })();
    for (const name of ['n1', 'n2', 'n3']) {
      expect(await nodes.end(name)).toBe(0);
      await nodes.add(name);
      await nodes.untilOpen();
    }
    isOver = true;
    await talk;
    for (const person of people) {
      const bubbles = await person.waitForReceived(said.length, 60_000);
      expect(bubbles.map((bubble) => bubble.text)).toEqual(said.map((text) => `Echo: ${text}`));
    }
    expect(said.length).toBeGreaterThan(5);
  });

  it('distribute accounts, pair them from any node, and rebalance when a node joins or leaves', async () => {
    await paired(['n1']);
    const [n1] = [nodes.node('n1')];
    for (const id of ['sales', 'support', 'press']) {
      expect((await n1.api('POST', '/api/accounts', { id: id })).status).toBe(201);
    }
    expect((await n1.api('POST', '/api/accounts', { id: 'sales' })).status).toBe(409);
    const counts = async () =>
      Object.fromEntries((await nodes.shown()).map((node) => [node.nodeId, node.accounts.length]));
    await expect.poll(counts, { timeout: 60_000 }).toEqual({ n1: 4 });
    await nodes.add('n2');
    await expect.poll(counts, { timeout: 60_000 }).toEqual({ n1: 2, n2: 2 });

    // each account is paired through a node that is not its owner
    const phone = createPhone(bed.emulator, { phone: newNumber('349') });
    const owner = await nodes.untilOwned('sales');
    const other = nodes.any(owner);
    await nodes.pair(phone, 'sales', other);
    expect((await nodes.node(owner).addRoute('*', bed.agent.url, { accountId: 'sales' })).id).toBeTruthy();
    const restarted = await other.api('POST', '/api/accounts/sales/restart');
    expect(restarted).toMatchObject({ status: 200, body: { data: { id: 'sales', node: owner } } });
    await nodes.untilOpen('sales', other);
    const bo = bed.person();
    await bo.say('to sales', { to: phone });
    expect((await bo.nextReply()).text).toBe('Echo: to sales');
    expect(
      (await other.api('POST', '/api/messages', { accountId: 'sales', channelId: bo.phone, text: 'News.' }))
        .status,
    ).toBe(202);
    expect((await bo.nextReply()).text).toBe('News.');

    await nodes.end('n1');
    await expect.poll(counts, { timeout: 60_000 }).toEqual({ n2: 4 });
    await nodes.untilOpen('sales');
    await bo.say('still there?', { to: phone });
    expect((await bo.nextReply()).text).toBe('Echo: still there?');
  });
});
