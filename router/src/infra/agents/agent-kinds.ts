import { a2aKind } from './a2a/a2a-kind.ts';
import { abiKind } from './abi/abi-kind.ts';
import { adkKind } from './adk/adk-kind.ts';
import type { AgentKind } from './agent-kind.ts';
import { echoKind } from './echo/echo-kind.ts';
import { hostedKind } from './hosted/hosted-kind.ts';
import { npcKind } from './npc/npc-kind.ts';
import { openAiKind } from './openai/openai-kind.ts';
import { shellKind } from './shell/shell-kind.ts';
import { webhookKind } from './webhook/webhook-kind.ts';

/**
 * Every agent kind of wa2ai: the only list to extend for a new one. When several kinds recognize an agent
 * (`wa2ai agent …`), the first one is used; `webhook`, which recognizes every server, is the last one.
 */
export const agentKinds: readonly AgentKind[] = [
  adkKind,
  npcKind,
  a2aKind,
  openAiKind,
  shellKind,
  hostedKind,
  abiKind,
  echoKind,
  webhookKind,
];
