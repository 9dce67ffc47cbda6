import { z } from 'zod';
import type { MediaKind } from '../../core/models.ts';
import { PHRASES } from '../../core/phrases.ts';
import { MAX_PATTERN_CHARS, regexProblem } from '../../core/routing/regex-problem.ts';

/** How long an answer may take unless the scenario says it, in milliseconds. */
export const DEFAULT_WITHIN_MS = 10_000;
const MAX_WAIT_MS = 600_000;
const MAX_STEPS = 500;
const MAX_TEXT = 65_536;

const MEDIA_KINDS = [
  'image',
  'video',
  'audio',
  'voice',
  'document',
  'sticker',
] as const satisfies MediaKind[];

const words = z.string().min(1, 'must not be empty').max(MAX_TEXT);
const name = z
  .string()
  .max(100)
  .refine((text) => text.trim() !== '', PHRASES['field.not-blank']);

const pattern = z.string().superRefine((text, context) => {
  const problem = regexProblem(text);
  if (problem === undefined) return;
  context.addIssue(
    text.length > MAX_PATTERN_CHARS
      ? `must have at most ${MAX_PATTERN_CHARS} characters`
      : 'must be a pattern of JavaScript (a regular expression)',
  );
});

const ofText = {
  contains: words.optional().describe('A part of the text, in upper or lower case.'),
  equals: words.optional().describe('The whole text.'),
  matches: pattern.optional().describe('A pattern of JavaScript that fits a part of the text.'),
  quotes: words.optional().describe('A part of the text of the message that the answer quotes.'),
};

const expectation = z
  .strictObject({
    ...ofText,
    file: z.enum(MEDIA_KINDS).optional().describe('The message has a file of this kind.'),
    not: z.strictObject(ofText).optional().describe('No message until then may be like this.'),
    reaction: z.string().min(1).max(20).optional().describe('The account reacts with this emoji.'),
    withinMs: z.int().min(1).max(MAX_WAIT_MS).optional(),
  })
  .refine(
    ({ reaction, withinMs: _, ...others }) => reaction === undefined || Object.keys(others).length === 0,
    { path: ['reaction'], error: 'has no other assertion' },
  );

const file = z
  .strictObject({
    file: words.optional().describe('Path of the file, from the folder of the scenario.'),
    data: z.base64(PHRASES['field.base64']).min(1).optional().describe('The bytes in base64.'),
    fileName: z.string().max(200).optional(),
    mimeType: z.string().max(100).optional(),
    kind: z.enum(MEDIA_KINDS).optional(),
  })
  .refine((given) => (given.file === undefined) !== (given.data === undefined), {
    error: 'must have either file or data',
  });

/** What a step does; a step has exactly one of these words, but for a file with a caption. */
const ACTIONS = ['say', 'send', 'react', 'edit', 'delete', 'expect', 'silence'] as const;

const step = z
  .strictObject({
    as: name.optional().describe('The person: a name, or a phone number with its country code.'),
    group: name.optional().describe('The group. Default: that of the scenario, else the chat of the person.'),
    say: words.optional(),
    send: z.union([words, file], 'must be the path of a file, or an object with file or data').optional(),
    react: z
      .string()
      .max(20)
      .optional()
      .describe('To the last message of the account; empty: takes it back.'),
    edit: words.optional().describe('The new text of the last message of the person.'),
    delete: z.literal(true).optional().describe('Deletes the last message of the person.'),
    mention: z.boolean().optional().describe('The text begins with a mention of the account.'),
    quote: z
      .union([z.literal(true), words], 'must be true or a part of a text')
      .optional()
      .describe('true: quotes the last message of the account; a text: the last message that has it.'),
    expect: expectation.optional(),
    silence: z.int().min(1).max(MAX_WAIT_MS).optional(),
  })
  .superRefine((given, context) => {
    const found = ACTIONS.filter((action) => given[action] !== undefined);
    const isCaption = found.length === 2 && found.includes('say') && found.includes('send');
    if (found.length !== 1 && !isCaption) {
      context.addIssue(`must have one of ${ACTIONS.join(', ')}`);
    }
    const isWritten = given.say !== undefined || given.send !== undefined;
    for (const field of ['mention', 'quote'] as const) {
      if (given[field] === undefined || isWritten) continue;
      context.addIssue({ code: 'custom', path: [field], message: 'belongs to say or send' });
    }
  });

const route = z.union(
  [
    words,
    z.strictObject({
      agentEndpoint: z.string().max(2_000).optional(),
      config: z.record(z.string(), z.unknown()),
    }),
  ],
  'must be the id or the name of a route, or an object with config',
);

/** A conversation with invented people, and what the account must answer. */
export const scenarioSchema = z
  .strictObject({
    name: name.optional(),
    route: route.optional().describe('Which route answers. Default: the routes of the playground decide.'),
    group: name.optional().describe('All steps are in this group.'),
    people: z.record(name, words).optional().describe('The phone numbers of people, by name.'),
    steps: z.array(step).min(1, 'must have a step').max(MAX_STEPS),
  })
  .superRefine(({ steps }, context) => {
    if (steps[0]?.as === undefined) {
      context.addIssue({ code: 'custom', path: ['steps', 0, 'as'], message: 'is missing; who writes?' });
    }
  });

export type Scenario = z.output<typeof scenarioSchema>;
export type ScenarioStep = Scenario['steps'][number];
export type Expectation = NonNullable<ScenarioStep['expect']>;
export type ScenarioRoute = NonNullable<Scenario['route']>;

/** A file of a step, with its bytes in base64. */
export interface ScenarioFile {
  data: string;
  fileName?: string;
  mimeType?: string;
  kind?: MediaKind;
}

/** The file that a step sends: a path, or its bytes. */
export function fileOfStep({
  send,
}: ScenarioStep): { path: string; kind?: MediaKind } | ScenarioFile | undefined {
  if (send === undefined) return undefined;
  if (typeof send === 'string') return { path: send };
  const { file: path, data = '', fileName, mimeType, kind } = send;
  const ofKind = kind === undefined ? {} : { kind };
  if (path !== undefined) return { path, ...ofKind };
  return {
    data,
    ...(fileName !== undefined && { fileName }),
    ...(mimeType !== undefined && { mimeType }),
    ...ofKind,
  };
}

/** The longest time that a scenario can wait, in milliseconds. */
export function longestMs({ steps }: Scenario): number {
  return steps.reduce(
    (sum, each) =>
      sum + (each.silence ?? 0) + (each.expect ? (each.expect.withinMs ?? DEFAULT_WITHIN_MS) : 0),
    0,
  );
}
