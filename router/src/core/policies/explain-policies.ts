import { parseJid } from '../chat-id.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { IncomingMessage, Route } from '../models.ts';
import { type Said, saidOf, say } from '../phrases.ts';
import type { ChatStore } from '../ports/chat-store.ts';
import type { PendingTurn } from '../turns/turn.ts';
import type { ConversationSettings } from './conversation-fields.ts';
import type { ChatPolicy } from './policy.ts';
import { chatSettingsOf } from './settings.ts';
import { languageOf, phoneOf } from './texts.ts';

/** What one policy decides about a message; `sentence` is ready to show to an admin. */
export interface PolicyLine extends Said {
  policy: string;
  outcome: 'continues' | 'ends' | 'not-reached';
  /** The reason that the message would be stored with. */
  reason?: string;
}

interface ExplainPoliciesDeps {
  policies: readonly ChatPolicy[];
  /** The stored defaults of all routes. */
  conversation(): Promise<ConversationSettings>;
  chatStore: Pick<ChatStore, 'turnFacts' | 'get'>;
  clock: Pick<Clock, 'now'>;
  log: Logger;
}

/** A message that nobody wrote. */
export interface MessageToDecide {
  accountId: string;
  channelIds: string[];
  message: Pick<IncomingMessage, 'channelId' | 'from' | 'isGroup' | 'text' | 'media'>;
  /** How it is addressed to the account. */
  toUs?: PendingTurn['toUs'];
}

/**
 * What the policies would decide about a message that this route takes, in the order of their evaluation, with what is stored of
 * the chat. Nothing is changed or sent.
 * @throws {StorageUnavailableError} the chat could not be read
 */
export async function explainPolicies(
  { policies, conversation, chatStore, clock, log }: ExplainPoliciesDeps,
  route: Route,
  { accountId, channelIds, message, toUs }: MessageToDecide,
): Promise<PolicyLine[]> {
  const nowMs = clock.now();
  const facts = await chatStore.turnFacts(accountId, channelIds);
  const sender = parseJid(message.from);
  const turn: PendingTurn = {
    messageId: '',
    chatId: '',
    accountId,
    message: { id: '', timestamp: new Date(nowMs), ...message },
    channelIds,
    replyTo: message.from,
    sender: sender?.kind === 'phone' ? sender.phone : sender?.kind === 'lid' ? sender.lid : '',
    receivedAtMs: nowMs,
    ...(toUs && { toUs }),
    ...facts,
  };
  const view = {
    turn,
    route,
    conversation: chatSettingsOf(route, await conversation()),
    language: languageOf(message.text, phoneOf(turn.message), turn.chatState?.language),
    nowMs,
  };
  const lines: PolicyLine[] = [];
  let isEnded = false;
  for (const { name, before } of policies) {
    if (!before) continue;
    if (isEnded) {
      const sentence = say('policy.not-reached');
      lines.push({ policy: name, outcome: 'not-reached', ...sentence });
      continue;
    }
    const decision = await before(view, log);
    isEnded = decision.kind === 'end';
    lines.push({
      policy: name,
      outcome: isEnded ? 'ends' : 'continues',
      ...(decision.kind === 'end' && { reason: decision.reason }),
      ...(decision.step ? saidOf(decision.step) : say('policy.passes')),
    });
    if (decision.kind === 'end' && decision.reason === 'chat-paused') {
      const until = (await chatStore.get(turn.chatId))?.pause?.until;
      const sentence = until ? say('chat.paused-until', { until: until.toISOString() }) : say('chat.paused');
      lines.push({ ...(lines.pop() as PolicyLine), ...sentence });
    }
  }
  return lines;
}
