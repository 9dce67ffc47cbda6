/** How the text of an agent is written for a chat: in WhatsApp's marks, without marks, or unchanged. */
type ReplyFormat = 'whatsapp' | 'plain' | 'as-is';

/**
 * Converts Markdown for a chat. A text without Markdown comes back unchanged, and so does a result. Must not throw: what is
 * not understood stays as it is.
 */
export type FormatReply = (markdown: string, format: ReplyFormat) => string;
