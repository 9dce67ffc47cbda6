import { AgentProtocolError } from '../../../../core/errors.ts';
import { type AgentTools, checkText, type ToolInput, type ToolOption } from '../../agent-tools.ts';
import { CheckRun } from '../../check-run.ts';
import { type Inspection, inspectionText } from '../../inspection.ts';
import { newTestPerson, sendAsTestPerson } from '../../test-person.ts';
import { type CardAnswer, cardUrlOf, fetchCard, NpcCards, npcServer } from '../card/npc-card.ts';
import { NpcAgentClient } from '../npc-agent-client.ts';
import { callRpc, METHOD_NOT_FOUND, type RpcPeer } from '../rpc/json-rpc.ts';
import { npcTasksOf } from '../rpc/npc-task.ts';

const message: ToolOption = { name: 'message', value: 'TEXT', help: 'what the person writes, such as /help' };
const key: ToolOption = { name: 'key', value: 'KEY', help: 'API key of the agent' };

/** Tools for people who write agents of the NPC Engine. */
export const npcTools: AgentTools = {
  async detect(input) {
    return (await cardOf(input)).card !== undefined;
  },
  inspect: {
    summary: 'shows the card, and a route for the agent',
    options: [key],
    async run(input) {
      const { report, details } = await inspectAgent(input);
      return { report, text: inspectionText(report, details), isGood: report.isReachable };
    },
  },
  test: {
    summary: 'sends one message as a new person and shows the answer',
    options: [message, key],
    async run(input) {
      const { answer, ms } = await sendAsTestPerson(input, () => clientOf(input));
      const { response, metadata } = answer;
      const lines = [`npc, ${ms} ms`, response ?? '(the agent says nothing)'];
      return { report: { ms, reply: response, ...metadata }, text: lines.join('\n'), isGood: true };
    },
  },
  check: {
    summary: 'checks what wa2ai needs from the agent; opens a social task when the card has it',
    options: [key],
    async run(input) {
      const report = (await checkServer(input)).report();
      return { report, text: checkText(report), isGood: report.isConforming };
    },
  },
};

async function inspectAgent(input: ToolInput): Promise<{ report: Inspection; details: string[] }> {
  const startedMs = input.clock.monotonicMs();
  const { card, status, problem } = await cardOf(input);
  const latencyMs = Math.round(input.clock.monotonicMs() - startedMs);
  const server = npcServer(input.url, settingsOf(input), card);
  const npc = input.options.key === undefined ? {} : { apiKey: '<the API key>' };
  const report = {
    kind: 'npc',
    url: input.url,
    isReachable: card !== undefined,
    answer: card
      ? `card of ${card.name ?? 'an agent without a name'}`
      : (problem ?? `status ${status}, no card`),
    latencyMs,
    ...(card?.version !== undefined && { version: card.version }),
    capabilities: card?.capabilities ?? [],
    ...(card && { route: { channelId: '*', agentEndpoint: input.url, config: { npc } } }),
  };
  return { report, details: [`calls         ${server.rpcUrl}`] };
}

async function checkServer(input: ToolInput): Promise<CheckRun> {
  const checks = new CheckRun(input.url, input.clock);
  const answer = await cardOf(input);
  await checks.run('GET /.well-known/agent-card is a card', async () => {
    if (answer.card) return ['pass', answer.card.capabilities.join(', ') || 'no capabilities'];
    return ['fail', answer.problem ?? `status ${answer.status}, no card of the NPC Engine`];
  });
  const peer = peerOf(input, answer);
  await checks.run('task.list lists tasks', async () => {
    const listed = await callRpc(peer, 'task.list', {}, { signal: undefined });
    if ('error' in listed) throw listed.asError();
    const tasks = npcTasksOf(listed.result);
    return tasks ? ['pass', `${tasks.length} tasks`] : ['fail', 'the result has no list "tasks"'];
  });
  await checks.run('an unknown method is refused with -32601', async () => {
    const refused = await callRpc(peer, 'task.nonsense', {}, { signal: undefined });
    const code = 'error' in refused ? refused.error.code : undefined;
    return code === METHOD_NOT_FOUND ? ['pass', String(code)] : ['fail', `answered ${code ?? 'a result'}`];
  });
  await checks.run('an unknown task is refused', async () => {
    const params = { taskId: 'wa2ai-no-such-task' };
    const refused = await callRpc(peer, 'task.status', params, { signal: undefined });
    return 'error' in refused ? ['pass', `error ${refused.error.code}`] : ['fail', 'it was answered'];
  });
  if (answer.card?.capabilities.includes('duel')) {
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
  if (answer.card?.capabilities.includes('social')) {
    await checks.run('a social task ends with a text', async () => {
      const { response } = await clientOf(input).sendMessage(input.url, newTestPerson().says('hello'));
      if (response === undefined) throw new AgentProtocolError('The agent says nothing.');
      return ['pass', `${response.length} characters`];
    });
  }
  return checks;
}

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
