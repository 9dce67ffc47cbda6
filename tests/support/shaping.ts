import type { ConversationSettings } from '../../router/src/core/policies/conversation-fields.ts';
import type { ReplyShaping } from '../../router/src/core/policies/reply.ts';
import { markdownToWhatsApp } from '../../router/src/infra/formatting/markdown-to-whatsapp.ts';

/** Most tests are not about what wa2ai itself says. */
export const WITHOUT_NOTICES = { unsupported: false, failed: false, slow: false };

/** How answers are shaped; default: without notices. */
export function shaping(defaults: ConversationSettings = { notices: WITHOUT_NOTICES }): ReplyShaping {
  return {
    conversation: async () => defaults,
    formatReply: markdownToWhatsApp,
    pollSecret: () => 'c2VjcmV0',
  };
}
