import { z } from 'zod';
import { PHRASES } from '../phrases.ts';
import { regexProblem } from '../routing/regex-problem.ts';
import { WHEN, whenField } from '../routing/when-fields.ts';
import { ACCESS, accessField } from './access-fields.ts';
import { editsField, PACE, paceField } from './pace-fields.ts';
import { PRESENCE, presenceField } from './presence-fields.ts';
import { TAKEOVER, takeoverField } from './takeover-fields.ts';
import { isTimeZone } from './time-zone.ts';
import { type VoiceSettings, voiceField } from './voice-fields.ts';

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

const noticeText = z.union([
  z.boolean(),
  z
    .string()
    .max(4096)
    .refine((text) => text.trim() !== '', PHRASES['field.not-blank']),
]);

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
  quota: quotaField.optional(),
  presence: presenceField.optional(),
  access: accessField.optional(),
  takeover: takeoverField.optional(),
  when: whenField.optional(),
};

/** The same without secrets, which a default of all routes cannot have. */
export const conversationDefaultFields = {
  ...conversationFields,
  reply: replyField.omit({ voice: true }).optional(),
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
  quota: QUOTA,
  presence: PRESENCE,
  access: ACCESS,
  takeover: TAKEOVER,
  when: WHEN,
};

const conversationSchema = z.object(conversationFields);

/** Settings as an admin writes them, for a route or as the default of all routes; an absent field is decided elsewhere. */
export type ConversationSettings = z.output<typeof conversationSchema>;
