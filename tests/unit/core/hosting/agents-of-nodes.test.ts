import { beforeEach, describe, expect, it } from 'vitest';
import { NodeCalls } from '../../../../router/src/core/cluster/node-bus.ts';
import { Wa2aiError } from '../../../../router/src/core/errors.ts';
import { type AgentCalls, AgentsOfNodes } from '../../../../router/src/core/hosting/agents-of-nodes.ts';
import { AgentElsewhereError } from '../../../../router/src/core/hosting/hosting-errors.ts';
import { MemoryNodeHub } from '../../../doubles/memory-node-hub.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

let hub: MemoryNodeHub;
let clock: FakeClock;
let done: unknown[];
let far: AgentsOfNodes;

/** The agents of a node: `helper` belongs to n1, and nothing else exists. */
function ownAgents(nodeId: string): AgentCalls {
  const at = async <T>(agentId: string, work: () => T): Promise<T | undefined> => {
    if (agentId !== 'helper') return undefined;
    if (nodeId !== 'n1') throw new AgentElsewhereError(agentId, 'n1');
    return work();
  };
  const view = { agent: { agentId: 'helper' }, status: 'idle' } as never;
  const change = (what: string) => (agentId: string, path?: string) =>
    at(agentId, () => {
      done.push(path === undefined ? what : [what, path]);
      return view;
    });
  return {
    list: async () => [view],
    get: async (agentId) => (agentId === 'helper' ? view : undefined),
    put: async () => {
      throw new AgentElsewhereError('helper', 'n1');
    },
    start: change('start'),
    stop: change('stop'),
    restart: change('restart'),
    deleteFile: change('deleteFile'),
    remove: async () => 'deleting',
    logs: (agentId, { tail }) =>
      at(agentId, async function* () {
        yield { stream: 'stdout' as const, text: `the last ${tail} lines` };
      }),
    files: (agentId) => at(agentId, () => ({ bytes: 3, files: [{ path: 'a', bytes: 3, changedAtMs: 1 }] })),
    readFile: (agentId) => at(agentId, () => new Uint8Array(1)),
    writeFile: (agentId) => at(agentId, () => true),
    archive: (agentId) => at(agentId, async function* () {}),
    send: (agentId, { messageId, text }) =>
      at(agentId, () => {
        if (text !== 'fail') return { messageId, state: 'answered', text: `You said ${text}` };
        return {
          messageId,
          state: 'failed',
          error: new Wa2aiError('AWAY', 'retry', { sentence: 'The agent is away.' }),
        };
      }),
    messages: (agentId, count) => at(agentId, () => [{ role: 'user', content: `the last ${count}` }]),
    openExchanges: async (agentId) =>
      (await at(agentId, () => [{ messageId: 'm1', state: 'working' }])) ?? [],
    close: async () => undefined,
  };
}

beforeEach(() => {
  hub = new MemoryNodeHub();
  clock = new FakeClock();
  done = [];
  const agentsAt = (nodeId: string) => {
    let calls = 0;
    const nodeCalls = new NodeCalls({ bus: hub.connect(nodeId), clock, newId: () => `${nodeId}-${++calls}` });
    return new AgentsOfNodes(ownAgents(nodeId), nodeCalls);
  };
  agentsAt('n1');
  far = agentsAt('n2');
});

describe('an agent of another node', () => {
  it('is started, stopped and cleared there', async () => {
    for (const action of ['start', 'stop', 'restart'] as const) {
      expect(await far[action]('helper')).toMatchObject({ status: 'idle' });
    }
    await far.deleteFile('helper', 'workspace/a');
    expect(done).toEqual(['start', 'stop', 'restart', ['deleteFile', 'workspace/a']]);
    expect(await far.start('none')).toBeUndefined();
  });

  it('gets messages there, and its answers and failures come back', async () => {
    const message = { messageId: 'm1', text: 'hello' };
    expect(await far.send('helper', message, 1_000)).toEqual({
      messageId: 'm1',
      state: 'answered',
      text: 'You said hello',
    });
    const failed = await far.send('helper', { ...message, text: 'fail' }, 0);
    expect(failed).toMatchObject({ state: 'failed', error: { code: 'AWAY', message: 'The agent is away.' } });
    expect(failed?.state === 'failed' && failed.error).toBeInstanceOf(Wa2aiError);
    const { signal } = new AbortController();
    expect(await far.messages('helper', 7, signal)).toEqual([{ role: 'user', content: 'the last 7' }]);
    expect(await far.openExchanges('helper')).toEqual([{ messageId: 'm1', state: 'working' }]);
    expect(await far.send('none', message, 0)).toBeUndefined();
  });

  it('shows its files and the end of its log', async () => {
    expect(await far.files('helper')).toEqual({
      bytes: 3,
      files: [{ path: 'a', bytes: 3, changedAtMs: 1 }],
    });
    const { signal } = new AbortController();
    const lines = await far.logs('helper', { tail: 9, follow: false, signal });
    const texts: string[] = [];
    for await (const { text } of lines ?? []) texts.push(text);
    expect(texts).toEqual(['the last 9 lines']);
  });

  it('is not changed from here, and sends no content of files and no log that is followed', async () => {
    const { signal } = new AbortController();
    const elsewhere = { code: 'AGENT_ELSEWHERE', nodeId: 'n1' };
    await expect(far.put({ agentId: 'helper' } as never)).rejects.toMatchObject(elsewhere);
    await expect(far.readFile('helper', 'a')).rejects.toMatchObject(elsewhere);
    await expect(far.writeFile('helper', 'a', new Uint8Array(1))).rejects.toMatchObject(elsewhere);
    await expect(far.archive('helper')).rejects.toMatchObject(elsewhere);
    await expect(far.logs('helper', { tail: 1, follow: true, signal })).rejects.toMatchObject(elsewhere);
    expect(hub.published).toEqual([]);
  });

  it('fails with a sentence when its node does not answer', async () => {
    hub.isMute = true;
    const sent = far.send('helper', { messageId: 'm1', text: 'hello' }, 1_000);
    const refused = expect(sent).rejects.toMatchObject({ code: 'NODE_SILENT', disposition: 'retry' });
    await settle();
    await clock.advanceMs(16_000);
    await refused;
  });
});
