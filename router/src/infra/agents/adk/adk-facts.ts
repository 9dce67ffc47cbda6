import { factsOf } from '../../../core/messages/message-facts.ts';
import type { IncomingMessage } from '../../../core/models.ts';

/** Prefix of all wa2ai keys in the session state. */
export const STATE_PREFIX = 'wa2ai_';
/** Session state key that marks wa2ai's user event, so that its run can be found after a time-out (refs/adk_api.md). */
export const MARKER = `${STATE_PREFIX}msg`;

/**
 * Facts about a message that an ADK agent receives, as keys of its session state; an instruction reads one as `{wa2ai_name}`.
 * Every key is sent with every message, empty if it has no value, so that no value of an earlier message remains. The text
 * of the message is sent as the person wrote it.
 *
 * - `wa2ai_msg` WhatsApp's message id
 * - `wa2ai_time` when the person sent it, ISO 8601 in UTC
 * - `wa2ai_name` the name that the person chose on WhatsApp
 * - `wa2ai_chat` `person` or `group`
 * - `wa2ai_quoted` the text that the message quotes
 * - `wa2ai_edit_of` the id of the message that this one edits
 * - `wa2ai_mentions` the people whom the text mentions: a list of `{ id, tag, name }`, where `id` is a JID, `tag` is how the
 *   text names the person (`@` and digits), and `name` is empty when it is unknown
 * - `wa2ai_number` and `wa2ai_lid` the person's number (digits) and LID (`<digits>@lid`)
 * - `wa2ai_subject` the name of the group
 * - `wa2ai_language` the language of the person's words or country: `en`, `es`, `pt`, `de`, `fr`
 * - `wa2ai_quoted_by` who wrote the quoted message: `{ id, name }`
 * - `wa2ai_kind` the kind of the message, `wa2ai_file` its file: `{ kind, mimeType, fileName, sizeBytes }`
 * - `wa2ai_card` a location, contacts, a poll, an event, a link or a choice, with its `kind`
 * - `wa2ai_transcript` whether the text is the transcript of a voice message
 *
 * Only the camelCase spelling carries them: the agent contract fixes `state_delta` as null.
 */
export function sessionStateOf(message: IncomingMessage): Record<string, unknown> {
  const facts = factsOf(message);
  const { quoted: { text: quoted = '', ...quotedBy } = {} } = facts;
  const values = {
    time: facts.time,
    name: facts.name ?? '',
    number: facts.number ?? '',
    lid: facts.lid ?? '',
    chat: facts.chat,
    subject: facts.subject ?? '',
    language: facts.language ?? '',
    quoted,
    quoted_by: quotedBy,
    edit_of: facts.editOf ?? '',
    mentions: (facts.mentions ?? []).map(({ id, tag, name = '' }) => ({ id, tag, name })),
    kind: facts.kind,
    file: facts.file ?? {},
    card: facts.card ?? {},
    transcript: facts.isTranscript ?? false,
  };
  const state = Object.entries(values).map(([name, value]) => [`${STATE_PREFIX}${name}`, value]);
  return { [MARKER]: facts.messageId, ...Object.fromEntries(state) };
}
