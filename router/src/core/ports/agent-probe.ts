import type { AgentProfile } from '../hosting/agent-spec.ts';

/** How to reach a running agent. */
export interface RunningAgent {
  /** Without a path: `http://127.0.0.1:32768`. */
  url: string;
  token: string;
}

/** Asks a running agent how it is, as its profile says. */
export interface AgentProbe {
  /** `silent`: no HTTP answer yet. `busy`: it works, although no request may run. Never throws. */
  ask(agent: RunningAgent, profile: AgentProfile, signal: AbortSignal): Promise<'silent' | 'ready' | 'busy'>;
}
