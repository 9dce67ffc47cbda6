import { AgentProtocolError, AgentUnavailableError } from '../../../core/errors.ts';
import { changed, say } from '../../../core/phrases.ts';
import {
  type AgentCardFacts,
  type AgentDeps,
  agentKind,
  findingOf,
  type ProbeFinding,
  reachFinding,
  withoutSecrets,
} from '../agent-kind.ts';
import {
  type AgentTools,
  agentTools,
  messageTool,
  newTestPerson,
  type ToolInput,
  type ToolOption,
} from '../agent-tools.ts';
import { type CardAnswer, cardUrlOf, fetchCard, NpcCards, npcServer } from './card/npc-card.ts';
import { NpcAgentClient } from './npc-agent-client.ts';
import { type NpcSettings, npcSettings, npcSettingsProblems } from './npc-settings.ts';
import { callRpc, METHOD_NOT_FOUND, npcTasksOf, type RpcPeer } from './rpc/json-rpc.ts';

const message: ToolOption = { name: 'message', value: 'TEXT', help: 'what the person writes, such as /help' };
const key: ToolOption = { name: 'key', value: 'KEY', help: 'API key of the agent' };

/** Tools for people who write agents of the NPC Engine. */
const npcTools: AgentTools = agentTools<CardAnswer>({
  kind: 'npc',
  find: cardOf,
  recognizes: ({ card }) => card !== undefined,
  inspect: {
    summary: 'shows the card, and a route for the agent',
    options: [key],
    of({ card, status, problem }, input) {
      const npc = input.options.key === undefined ? {} : { apiKey: '<the API key>' };
      return {
        isReachable: card !== undefined,
        answer: card
          ? `card of ${card.name ?? 'an agent without a name'}`
          : (problem?.sentence ?? `status ${status}, no card`),
        ...(card?.version !== undefined && { version: card.version }),
        capabilities: card?.capabilities ?? [],
        ...(card && { config: { npc } }),
        details: [`calls         ${npcServer(input.url, settingsOf(input), card).rpcUrl}`],
      };
    },
  },
  test: messageTool([key], async (input) => ({ client: clientOf(input) }), message),
  check: {
    summary: 'checks what wa2ai needs from the agent; opens a social task when the card has it',
    options: [key],
    async run(checks, found, input) {
      await checks.run('GET /.well-known/agent-card is a card', async () => {
        if (found.card) return ['pass', found.card.capabilities.join(', ') || 'no capabilities'];
        return ['fail', found.problem?.sentence ?? `status ${found.status}, no card of the NPC Engine`];
      });
      const peer = peerOf(input, found);
      await checks.run('task.list lists tasks', async () => {
        const listed = await callRpc(peer, 'task.list', {}, { signal: undefined });
        if ('error' in listed) throw listed.asError();
        const tasks = npcTasksOf(listed.result);
        return tasks ? ['pass', `${tasks.length} tasks`] : ['fail', 'the result has no list "tasks"'];
      });
      await checks.run('an unknown method is refused with -32601', async () => {
        const refused = await callRpc(peer, 'task.nonsense', {}, { signal: undefined });
        const code = 'error' in refused ? refused.error.code : undefined;
        return code === METHOD_NOT_FOUND
          ? ['pass', String(code)]
          : ['fail', `answered ${code ?? 'a result'}`];
      });
      await checks.run('an unknown task is refused', async () => {
        const params = { taskId: 'wa2ai-no-such-task' };
        const refused = await callRpc(peer, 'task.status', params, { signal: undefined });
        return 'error' in refused ? ['pass', `error ${refused.error.code}`] : ['fail', 'it was answered'];
      });
      if (found.card?.capabilities.includes('duel')) {
        await checks.run('a wrong address is refused with -32602 and its field', async () => {
          const params = { type: 'duel', params: { opponent: 'nobody', wager: '1' } };
          const refused = await callRpc(peer, 'task.open', params, { signal: undefined });
          if (!('error' in refused)) return ['fail', 'it was accepted'];
          const { code, data } = refused.error;
          const field = (data as { field?: unknown } | undefined)?.field;
          if (code !== -32602) return ['fail', `error ${code}`];
          return field === undefined ? ['warn', 'without data.field'] : ['pass', `field ${field}`];
        });
      }
      if (found.card?.capabilities.includes('social')) {
        await checks.run('a social task ends with a text', async () => {
          const { response } = await clientOf(input).sendMessage(input.url, newTestPerson().says('hello'));
          if (response === undefined) throw new AgentProtocolError(say('npc.says-nothing'));
          return ['pass', `${response.length} characters`];
        });
      }
    },
  },
});

function settingsOf({ options }: ToolInput) {
  return { ...(options.key !== undefined && { apiKey: options.key }) };
}

function cardOf(input: ToolInput): Promise<CardAnswer> {
  const settings = settingsOf(input);
  const cardUrl = cardUrlOf(input.url, settings);
  const headers = npcServer(input.url, settings, undefined).headersFor(cardUrl);
  return fetchCard(cardUrl, headers, {
    transport: input.transport,
    signal: AbortSignal.timeout(input.timeoutMs),
  });
}

function peerOf(input: ToolInput, { card }: CardAnswer): RpcPeer {
  const server = npcServer(input.url, settingsOf(input), card);
  const { transport, clock, timeoutMs } = input;
  const redact = (text: string) =>
    server.secrets.reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text);
  return { server, transport, clock, timeoutMs, redact };
}

function clientOf(input: ToolInput): NpcAgentClient {
  const { transport, clock, timeoutMs } = input;
  const cards = new NpcCards(clock, transport);
  const npc = { ...settingsOf(input), waitMs: timeoutMs };
  return new NpcAgentClient({ npc, timeoutMs, transport, clock, cards });
}

/** Warnings about a route to this agent: it cannot be reached, or its card has no such capability. */
async function npcFindings(
  agentEndpoint: string,
  settings: NpcSettings,
  deps: Pick<AgentDeps, 'transport'> & { signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const cardUrl = cardUrlOf(agentEndpoint, settings);
  const { secrets, headersFor } = npcServer(agentEndpoint, settings, undefined);
  const answer = await fetchCard(cardUrl, headersFor(cardUrl), deps);
  const problem = answer.problem && withoutSecrets(answer.problem, secrets);
  const address = settings.cardUrl === undefined ? 'agentEndpoint' : 'config.npc.cardUrl';
  const fields = { address, headers: 'config.npc.headers' };
  const found = {
    ...(answer.status !== undefined && { status: answer.status }),
    ...(problem && { problem }),
  };
  const unreached = reachFinding({ kind: 'npc', address: new URL(cardUrl).origin }, found, fields);
  if (unreached) return [unreached];
  const { capability } = settings;
  if (!answer.card || capability === undefined || answer.card.capabilities.includes(capability)) return [];
  const names = answer.card.capabilities.join(', ').slice(0, 300);
  const said = say('probe.no-capability', { name: capability, names });
  return [findingOf('AGENT_APP_UNKNOWN', 'config.npc.capability', said)];
}

/** The card of an agent of the NPC Engine, for operators. @throws {AgentUnavailableError} it does not answer */
async function npcCardFacts(
  agentEndpoint: string,
  settings: NpcSettings,
  deps: Pick<AgentDeps, 'transport'> & { signal: AbortSignal },
): Promise<AgentCardFacts | undefined> {
  const url = cardUrlOf(agentEndpoint, settings);
  const { secrets, headersFor } = npcServer(agentEndpoint, settings, undefined);
  const { card, problem } = await fetchCard(url, headersFor(url), deps);
  if (problem !== undefined) {
    const why = changed(problem, (text) =>
      secrets.reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text),
    );
    throw new AgentUnavailableError(say('npc.no-card', { why }));
  }
  if (!card) return undefined;
  const { name, version, description, capabilities, streamUrl, authType, keyHeader } = card;
  return {
    url,
    ...(name !== undefined && { name }),
    ...(version !== undefined && { version }),
    ...(description !== undefined && { description }),
    interfaces: ['JSON-RPC', ...(streamUrl === undefined ? [] : ['events of tasks'])],
    capabilities,
    skills: [],
    authentication: authType === undefined ? [] : [`${authType}, in the header ${keyHeader}`],
  };
}

/** Agents that speak the agent card specification of the NPC Engine. */
export const npcKind = agentKind<NpcSettings>({
  name: 'npc',
  description: 'An agent of the NPC Engine (agent card specification): tasks over JSON-RPC.',
  settings: npcSettings,
  check: npcSettingsProblems,
  endpointOf: (agentEndpoint, settings) => npcServer(agentEndpoint, settings, undefined).rpcUrl,
  probe: npcFindings,
  card: npcCardFacts,
  tools: npcTools,
  client: ({ defaultTimeoutMs, log, clock, transport }) => {
    const cards = new NpcCards(clock, transport);
    return (npc) => new NpcAgentClient({ npc, timeoutMs: defaultTimeoutMs(), log, clock, transport, cards });
  },
});
