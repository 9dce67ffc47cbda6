import { z } from 'zod';
import { ANY_CHANNEL, canonicalChannelId, hasTrunkZero } from '../chat-id.ts';
import { PHRASES, say } from '../phrases.ts';
import { regexProblem } from '../routing/regex-problem.ts';
import { WHEN, whenField } from '../routing/when-fields.ts';
import { isTimeZone } from './governor.ts';
import { FORMS_OF_ADDRESS, LANGUAGES, TEXT_NAMES, type TextSettings, unknownPlaceholder } from './texts.ts';

const TAKEOVER = { minutes: 30, contextMessages: 20 };

const takeoverField = z
  .strictObject({
    minutes: z
      .int()
      .min(0)
      .max(43_200)
      .optional()
      .describe(
        'How long the chat is paused after a message that the owner writes by hand. 0: such messages change nothing. Default: 30.',
      ),
    contextMessages: z
      .int()
      .min(0)
      .max(100)
      .optional()
      .describe(
        'Messages of the time without answers, also those of the owner, that the agent gets with the next message. Default: 20.',
      ),
  })
  .describe('What happens when the owner writes in the chat.');

const PACE = {
  debounceMs: 0,
  maxWaitMs: 10_000,
  busy: 'queue' as 'queue' | 'merge' | 'interrupt',
};

const paceField = z
  .strictObject({
    debounceMs: z
      .int()
      .min(0)
      .max(60_000)
      .optional()
      .describe(
        'Messages of one person that follow each other within this time become one question. 0: each message is a question. Default: 1500 for an OpenAI-compatible model, else 0.',
      ),
    maxWaitMs: z
      .int()
      .min(0)
      .max(300_000)
      .optional()
      .describe('The first of these messages waits no longer than this. Default: 10000.'),
    busy: z
      .enum(['queue', 'merge', 'interrupt'])
      .optional()
      .describe(
        '`queue`: a message that comes while the agent works waits; `merge`: all that came meanwhile become one question; `interrupt`: the call of the agent ends and starts again with the new message added. Default: queue.',
      ),
  })
  .describe('When messages that a person writes in a row are answered.');

const editsField = z
  .enum(['follow', 'ignore'])
  .describe(
    '`follow`: an edited message is answered by its new text, and one that its author deleted is not answered; `ignore`: the first text counts. Default: follow.',
  );

/** Shown on the person's message; an absent one is not shown. */
export interface Reactions {
  /** While the agent works. */
  working?: string;
  /** After an answer, else nothing. */
  done?: string;
  /** After a failure, else nothing. */
  failed?: string;
}

const PRESENCE = {
  readReceipts: 'on-turn' as 'on-turn' | 'never',
  typing: true,
  reactions: {} as Reactions,
};

/** A flag or a family is several code points, and long ones are tags. */
const MAX_EMOJI_CHARS = 40;
const graphemes = new Intl.Segmenter();

// Without `abort`, a text that is too long is segmented all the same.
const emoji = z.string().max(MAX_EMOJI_CHARS, { abort: true }).refine(isEmoji, PHRASES['field.emoji']);

const presenceField = z
  .strictObject({
    readReceipts: z
      .enum(['on-turn', 'never'])
      .optional()
      .describe('`on-turn`: the blue ticks appear when the turn of a message begins. Default: on-turn.'),
    typing: z.boolean().optional().describe('"typing..." is shown while the agent works. Default: true.'),
    reactions: z
      .strictObject({
        working: emoji.optional().describe('On the message while the agent works; removed at the end.'),
        done: emoji.optional().describe('On the message after the answer.'),
        failed: emoji.optional().describe('On the message when there is no answer.'),
      })
      .optional()
      .describe('Emoji on the message that is answered. Default: none.'),
  })
  .describe('What a person sees of the work on a message, besides the answer.');

function isEmoji(text: string): boolean {
  return [...graphemes.segment(text)].length === 1 && /^\p{Emoji}/u.test(text) && /[^\d#*]/.test(text);
}

/** The settings of an OpenAI-compatible server that turns speech into text, or text into speech. */
function audioServerFields(path: string, model: string) {
  return {
    url: z
      .string()
      .max(2048)
      .refine(
        (value) => /^https?:\/\//i.test(value) && URL.canParse(value),
        PHRASES['field.http-or-https-url'],
      )
      .meta({ format: 'uri' })
      .describe(
        `URL of an OpenAI-compatible server: with or without \`/v1\`, or the full path that ends with \`${path}\`.`,
      ),
    model: z.string().min(1).max(200).optional().describe(`Default: \`${model}\`.`),
    headers: z
      .record(
        z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/),
        z
          .string()
          .max(8192)
          .regex(/^[\t\x20-\x7e]*$/, PHRASES['field.ascii'])
          .meta({ format: 'password' }),
      )
      .optional()
      .describe(
        'Extra request headers, such as `Authorization`. Stored; the API shows `***` for each value.',
      ),
  };
}

/** `config.reply.voice` of a route: its headers are secrets, so there is no default for all routes. */
export const voiceField = z
  .strictObject({
    ...audioServerFields('/audio/speech', 'tts-1'),
    voice: z.string().min(1).max(200).optional().describe('Name of the voice. Default: `alloy`.'),
    when: z
      .enum(['same-as-asked', 'always'])
      .optional()
      .describe(
        '`same-as-asked`: a voice message is answered with one, a text with text. Default: same-as-asked.',
      ),
    maxChars: z
      .int()
      .min(1)
      .max(4_096)
      .optional()
      .describe('A longer answer is sent as text. Default: 1000.'),
  })
  .describe(
    'Answers with voice messages. Only in `config` of a route. An answer that cannot be spoken is sent as text. Default: off.',
  );

export type VoiceSettings = z.output<typeof voiceField>;

/** Whether the answer to a message is spoken. Pure. */
export function isVoiceReply(
  voice: VoiceSettings | undefined,
  asked: { media?: { kind: string } } | undefined,
): voice is VoiceSettings {
  return voice?.when === 'always' || (voice !== undefined && asked?.media?.kind === 'voice');
}

/** What the owner decided about a chat; `pending`: the owner was asked. */
export type Access = 'pending' | 'approved' | 'refused';

const ACCESS = {
  people: 'everyone' as 'everyone' | 'listed' | 'approved',
  list: [] as string[],
  askText: undefined as string | undefined,
};

const accessField = z
  .strictObject({
    people: z
      .enum(['everyone', 'listed', 'approved'])
      .optional()
      .describe(
        '`listed`: people and groups of `list` only; `approved`: also chats that the owner approved, and messages of others wait for the owner. Default: everyone.',
      ),
    list: z
      .array(
        z
          .string()
          .max(100)
          .refine((address) => isPersonOrGroup(address), PHRASES['field.chat-address']),
      )
      .max(1_000)
      .optional()
      .describe('Phone numbers with country code, LIDs or group ids. Default: none.'),
    askText: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe('Sent to a person whose first message waits for the owner. Default: nothing is sent.'),
  })
  .describe('Who gets answers.');

function isPersonOrGroup(address: string): boolean {
  const channelId = canonicalChannelId(address);
  return channelId !== undefined && channelId !== ANY_CHANNEL && !hasTrunkZero(channelId);
}

const REPLY = {
  format: 'whatsapp' as 'whatsapp' | 'plain' | 'as-is',
  maxChars: 4_000,
  quote: 'group' as 'group' | 'always' | 'never',
  stream: 'off' as 'off' | 'paragraphs' | 'edit',
  imageHosts: [] as string[],
  fileHosts: [] as string[],
  voice: undefined as VoiceSettings | undefined,
};

const hostsField = z
  .array(
    z
      .string()
      .max(260)
      .regex(/^[a-z0-9.-]+(?::\d{1,5})?$/, PHRASES['field.host']),
  )
  .max(50)
  .optional();

const replyField = z
  .strictObject({
    format: z
      .enum(['whatsapp', 'plain', 'as-is'])
      .optional()
      .describe(
        "`whatsapp`: Markdown becomes WhatsApp's bold, italic, strike, code and lists; `plain`: without marks; `as-is`: the agent's text unchanged. Default: whatsapp.",
      ),
    maxChars: z
      .int()
      .min(100)
      .max(65_536)
      .optional()
      .describe(
        'A longer text becomes several messages, cut between paragraphs, sentences or words. Default: 4000.',
      ),
    quote: z
      .enum(['group', 'always', 'never'])
      .optional()
      .describe('Where the first message of an answer quotes the question. Default: group.'),
    stream: z
      .enum(['off', 'paragraphs', 'edit'])
      .optional()
      .describe(
        'What is shown while the agent writes. `paragraphs`: each paragraph is a message as soon as it is complete; `edit`: one message that grows. For ADK, A2A and OpenAI-compatible agents. Default: off.',
      ),
    imageHosts: hostsField.describe(
      'Pictures of these hosts in Markdown (`![text](https://…)`) are sent as pictures, at most 5 of an answer. Default: none.',
    ),
    fileHosts: hostsField.describe(
      'Files of these hosts that an ADK or webhook agent names by URL are sent as files, at most 5 of an answer. Default: none.',
    ),
    voice: voiceField.optional(),
  })
  .describe("How the agent's text is shown.");

const egressFilterField = z
  .enum(['on', 'off'])
  .describe(
    "`on`: removes secrets, stack traces, reasoning (`<think>`), internal file paths and private addresses from the agent's text. Default: on.",
  );

/** For a route of all chats; a route of one group answers always (`builtInOf`). */
const GROUP = {
  answer: 'mention' as 'mention' | 'always' | 'never',
  patterns: [] as string[],
  contextMessages: 20,
};

const groupField = z
  .strictObject({
    answer: z
      .enum(['mention', 'always', 'never'])
      .optional()
      .describe(
        '`mention`: messages that mention the account, reply to one of its messages or match a pattern. Default: mention on a route with `*`, always on the route of a group.',
      ),
    patterns: z
      .array(
        z
          .string()
          .min(1)
          .max(500)
          .refine((pattern) => regexProblem(pattern) === undefined, PHRASES['field.regex']),
      )
      .max(20)
      .optional()
      .describe(
        'ECMAScript patterns, without flags; a text with a match of one counts as a mention. Default: none.',
      ),
    contextMessages: z
      .int()
      .min(0)
      .max(100)
      .optional()
      .describe('Unanswered messages since the last answer that the agent gets with a message. Default: 20.'),
  })
  .describe('Which messages in groups are answered.');

const ownText = z
  .string()
  .max(4096)
  .refine((text) => text.trim() !== '', PHRASES['field.not-blank']);

const noticeText = z.union([z.boolean(), ownText]);

const NOTICES = {
  unsupported: true as boolean | string,
  failed: true as boolean | string,
  slow: true as boolean | string,
  slowAfterMs: 20_000,
};

const noticesField = z
  .strictObject({
    unsupported: noticeText
      .optional()
      .describe(
        'Sent for a kind of message that the agent cannot take, at most once in ten minutes. A text replaces the built-in one. Default: true.',
      ),
    failed: noticeText
      .optional()
      .describe('Sent when a turn has failed, at most once in ten minutes. Default: true.'),
    slow: noticeText
      .optional()
      .describe(
        'Sent once for each question whose answer takes longer than `slowAfterMs`; while the agent cannot be reached, a built-in text says so instead. Default: true.',
      ),
    slowAfterMs: z.int().min(1_000).max(3_600_000).optional().describe('Default: 20000.'),
  })
  .describe("Texts in the person's language where there would be silence.");

const TEXTS: TextSettings = { formOfAddress: 'usual', own: {} };

const textsField = z
  .strictObject({
    formOfAddress: z
      .enum(FORMS_OF_ADDRESS)
      .optional()
      .describe(
        'How wa2ai addresses people: as `usual` in each language, or always `formal` (usted, Sie, vous) or `informal` (tú, du, tu). Default: usual.',
      ),
    own: z
      .record(z.templateLiteral([z.enum(LANGUAGES), '.', z.enum(TEXT_NAMES)]), ownText)
      .superRefine((texts, { addIssue }) => {
        for (const [key, text] of Object.entries(texts)) {
          const name = TEXT_NAMES.find((each) => key.endsWith(`.${each}`));
          const placeholder = name && unknownPlaceholder(name, text);
          if (placeholder === undefined) continue;
          const { sentence, phrase } = say('field.no-placeholder', { placeholder });
          addIssue({ code: 'custom', path: [key], message: sentence, params: { phrase } });
        }
      })
      .optional()
      .describe(
        'Your words instead of those of wa2ai, by language and name, such as `es.failed`. The [names](conversation.md#texts) are listed. Those of a route replace those of the defaults.',
      ),
  })
  .describe("How wa2ai's own texts read.");

const COMMANDS = { new: true, help: true, stop: true, status: true };

const commandsField = z
  .strictObject({
    new: z.boolean().optional().describe('`/new` and `/reset` begin a new session. Default: true.'),
    help: z
      .boolean()
      .optional()
      .describe("`/help` lists wa2ai's commands, after those of the agent. Default: true."),
    stop: z.boolean().optional().describe('`/stop` ends the answer that is being made. Default: true.'),
    status: z
      .boolean()
      .optional()
      .describe('`/status` says that messages are answered, and since when. Default: true.'),
  })
  .describe(
    'Commands of a person that wa2ai answers itself, unless the agent has a command of the same name.',
  );

const SESSION = {
  scope: 'person-in-chat' as 'person-in-chat' | 'chat' | 'person',
  idleMinutes: 0,
  dailyAt: undefined as string | undefined,
  timeZone: 'UTC',
};

const sessionField = z
  .strictObject({
    scope: z
      .enum(['person-in-chat', 'chat', 'person'])
      .optional()
      .describe(
        '`chat`: the members of a group share one session; `person`: a person has one session in all chats. Default: person-in-chat.',
      ),
    idleMinutes: z
      .int()
      .min(0)
      .max(525_600)
      .optional()
      .describe('A new session begins when nothing was answered for so long. 0: never. Default: 0.'),
    dailyAt: z
      .string()
      .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, PHRASES['field.time-of-day'])
      .optional()
      .describe('A new session begins each day at this time, such as `04:00`. Default: never.'),
    timeZone: z
      .string()
      .max(100)
      .refine(isTimeZone, PHRASES['field.time-zone'])
      .optional()
      .describe('Of `dailyAt`. Default: UTC.'),
  })
  .describe('Which messages belong to one session of the agent.');

const QUOTA = { messages: 0, perMinutes: 60, text: undefined as string | undefined };

const quotaField = z
  .strictObject({
    messages: z
      .int()
      .min(0)
      .max(1_000_000)
      .optional()
      .describe(
        'Messages of one person in a chat that are answered in `perMinutes`. 0: no limit. Default: 0.',
      ),
    perMinutes: z.int().min(1).max(43_200).optional().describe('Default: 60.'),
    text: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe("Sent once when the limit is reached. Default: a sentence in the person's language."),
  })
  .describe('How many messages of one person are answered.');

/** How wa2ai converses: the fields that `config` of a route and `PUT /api/settings/conversation` share. */
export const conversationFields = {
  reply: replyField.optional(),
  egressFilter: egressFilterField.optional(),
  group: groupField.optional(),
  session: sessionField.optional(),
  pace: paceField.optional(),
  edits: editsField.optional(),
  commands: commandsField.optional(),
  notices: noticesField.optional(),
  texts: textsField.optional(),
  quota: quotaField.optional(),
  presence: presenceField.optional(),
  access: accessField.optional(),
  takeover: takeoverField.optional(),
  when: whenField.optional(),
};

/** The same without secrets, which a default of all routes cannot have. */
export const conversationDefaultFields = {
  ...conversationFields,
  reply: replyField
    .omit({ voice: true })
    .optional()
    .describe(replyField.description ?? ''),
};

/** What applies where neither a route nor the default of all routes says it. */
export const BUILT_IN = {
  reply: REPLY,
  egressFilter: 'on' as 'on' | 'off',
  group: GROUP,
  session: SESSION,
  pace: PACE,
  edits: 'follow' as 'follow' | 'ignore',
  commands: COMMANDS,
  notices: NOTICES,
  texts: TEXTS,
  quota: QUOTA,
  presence: PRESENCE,
  access: ACCESS,
  takeover: TAKEOVER,
  when: WHEN,
};

const conversationSchema = z.object(conversationFields);

/** Settings as an admin writes them, for a route or as the default of all routes; an absent field is decided elsewhere. */
export type ConversationSettings = z.output<typeof conversationSchema>;

const transcribeField = z
  .strictObject(audioServerFields('/audio/transcriptions', 'whisper-1'))
  .describe('Turns voice messages into text. Default: off.');

/** `config.media` of a route: its headers are secrets, so there is no default for all routes. */
export const mediaField = z
  .strictObject({ transcribe: transcribeField.optional() })
  .describe('What happens to files of people before the agent gets them.');

export type MediaSettings = z.output<typeof mediaField>;
export type TranscribeSettings = z.output<typeof transcribeField>;
