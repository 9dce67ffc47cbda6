import { OWN_REQUEST_HEADER } from '../../core/access/caller.ts';
import { type AgentProfile, tokenHeaders } from '../../core/hosting/agent-spec.ts';
import type { AgentProbe, RunningAgent } from '../../core/ports/agent-probe.ts';

/** The path whose answer says that a program is ready. */
const PATHS: Record<AgentProfile, string> = {
  chat: '/health',
  adk: '/list-apps',
  abi: '/health',
  agentcore: '/ping',
  a2a: '/.well-known/agent-card.json',
  swerex: '/is_alive',
};
/** Of a status answer wa2ai reads no more than this. */
const MAX_BYTES = 4_096;

/**
 * Asks over HTTP. Any HTTP answer but 502, 503 and 504 counts as ready: many agents have no path for their health. A
 * connection alone proves nothing, because an engine accepts it before the program listens.
 */
export class HttpAgentProbe implements AgentProbe {
  async ask(
    { url, token }: RunningAgent,
    profile: AgentProfile,
    signal: AbortSignal,
  ): Promise<'silent' | 'ready' | 'busy'> {
    try {
      const response = await fetch(`${url}${PATHS[profile]}`, {
        headers: { ...tokenHeaders(token), [OWN_REQUEST_HEADER]: 'wa2ai' },
        redirect: 'manual',
        signal,
      });
      const text = await startOf(response);
      if (response.status >= 502 && response.status <= 504) return 'silent';
      return saysBusy(text) ? 'busy' : 'ready';
    } catch {
      return 'silent';
    }
  }
}

/** `{"status": "HealthyBusy"}` of the AgentCore contract; wa2ai reads `busy` in the same way. */
function saysBusy(text: string): boolean {
  return /"status"\s*:\s*"[^"]*busy"/i.test(text);
}

async function startOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return '';
  let text = '';
  const decoder = new TextDecoder();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    text += decoder.decode(read.value, { stream: true });
    if (text.length > MAX_BYTES) {
      await reader.cancel().catch(() => undefined);
      break;
    }
  }
  return text;
}
