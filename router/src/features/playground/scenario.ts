import type { Document, LineCounter, Node } from 'yaml';
import { z } from 'zod';
import type { ChatId } from '../../core/chat-id.ts';
import { errorOf } from '../../core/errors.ts';
import type { MediaKind } from '../../core/models.ts';
import { issueOf, PHRASES, type Said, say } from '../../core/phrases.ts';
import type { PlaygroundEvent } from '../../core/ports/playground.ts';
import { regexProblem } from '../../core/routing/regex-problem.ts';
import { mistakeOf, oneOf, parseYaml } from '../../infra/operations/form.ts';

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

const words = z.string().min(1, PHRASES['field.empty']).max(MAX_TEXT);
const name = z
  .string()
  .max(100)
  .refine((text) => text.trim() !== '', PHRASES['field.not-blank']);

const pattern = z.string().superRefine((text, context) => {
  const problem = regexProblem(text);
  if (problem) context.addIssue({ code: 'custom', ...issueOf(problem) });
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
    { path: ['reaction'], error: PHRASES['field.no-other-assertion'] },
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
    error: PHRASES['field.file-or-data'],
  });

/** What a step does; a step has exactly one of these words, but for a file with a caption. */
const ACTIONS = ['say', 'send', 'react', 'edit', 'delete', 'expect', 'silence'] as const;

const step = z
  .strictObject({
    as: name.optional().describe('The person: a name, or a phone number with its country code.'),
    group: name.optional().describe('The group. Default: that of the scenario, else the chat of the person.'),
    say: words.optional(),
    send: z.union([words, file], PHRASES['field.path-or-file']).optional(),
    react: z
      .string()
      .max(20)
      .optional()
      .describe('To the last message of the account; empty: takes it back.'),
    edit: words.optional().describe('The new text of the last message of the person.'),
    delete: z.literal(true).optional().describe('Deletes the last message of the person.'),
    mention: z.boolean().optional().describe('The text begins with a mention of the account.'),
    quote: z
      .union([z.literal(true), words], PHRASES['field.true-or-part'])
      .optional()
      .describe('true: quotes the last message of the account; a text: the last message that has it.'),
    expect: expectation.optional(),
    silence: z.int().min(1).max(MAX_WAIT_MS).optional(),
  })
  .superRefine((given, context) => {
    const found = ACTIONS.filter((action) => given[action] !== undefined);
    const isCaption = found.length === 2 && found.includes('say') && found.includes('send');
    if (found.length !== 1 && !isCaption) {
      const mistake = say('field.one-of-actions', { actions: ACTIONS.join(', ') });
      context.addIssue({ code: 'custom', ...issueOf(mistake) });
    }
    const isWritten = given.say !== undefined || given.send !== undefined;
    for (const field of ['mention', 'quote'] as const) {
      if (given[field] === undefined || isWritten) continue;
      context.addIssue({ code: 'custom', path: [field], message: PHRASES['field.of-say-or-send'] });
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
  PHRASES['field.route-or-config'],
);

/** A conversation with invented people, and what the account must answer. */
export const scenarioSchema = z
  .strictObject({
    name: name.optional(),
    route: route.optional().describe('Which route answers. Default: the routes of the playground decide.'),
    group: name.optional().describe('All steps are in this group.'),
    people: z.record(name, words).optional().describe('The phone numbers of people, by name.'),
    steps: z.array(step).min(1, PHRASES['field.some-step']).max(MAX_STEPS),
  })
  .superRefine(({ steps }, context) => {
    if (steps[0]?.as === undefined) {
      context.addIssue({ code: 'custom', path: ['steps', 0, 'as'], message: PHRASES['field.who-writes'] });
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

/** A step cannot be done: there is no such route, the file is refused. The scenario fails there. */
export class StepFailedError extends errorOf('STEP_FAILED', 'dead') {}

/** A chat of a scenario: a person, or a group with its people. Without a number, a person gets an invented one. */
export interface ScenarioChat {
  kind: 'person' | 'group';
  name: string;
  people: Array<{ name: string; phone?: string }>;
}

/** What a person of a scenario does. `quote`, `reaction.to`, `edit` and `delete` are ids of messages. */
export interface ScenarioWriting {
  as: string;
  text?: string;
  file?: ScenarioFile;
  reaction?: { to: string; emoji: string };
  quote?: string;
  mention?: boolean;
  edit?: string;
  delete?: string;
}

/** A message of a chat, as quotes and reactions name it. */
export interface ScenarioMessage {
  id: string;
  direction: 'incoming' | 'outgoing';
  text: string;
}

/** What a phone of a scenario shows; ids grow. */
export type ShownEvent = PlaygroundEvent & { id: string };

/**
 * The playground as scenarios use it.
 * @throws {StepFailedError} from every method: what the scenario asks for is refused
 */
export interface ScenarioWorld {
  /** Opens the chat. That of a person whose number the playground knows continues. */
  open(chat: ScenarioChat): Promise<ChatId>;
  /** Resolves when the message is stored. @returns its id */
  write(chatId: ChatId, writing: ScenarioWriting): Promise<string>;
  /** The last messages of the chat, newest first. */
  messages(chatId: ChatId): Promise<ScenarioMessage[]>;
  /** What the phones of the chat show after an event; waits so long for the first. */
  events(chatId: ChatId, after: string, waitMs: number): Promise<ShownEvent[]>;
  /** Deletes what the scenario made. */
  close(): Promise<void>;
}

/** What is wrong with the text of a scenario. */
export interface ScenarioProblem {
  /** From 1. */
  line: number;
  /** Where: `steps.2.expect.withinMs`; empty: the whole. */
  field: string;
  /** Follows the field. */
  mistake: Said;
}

type ReadScenario = { scenario: Scenario } | { problems: ScenarioProblem[] };

/** The largest text of a scenario, in bytes: with the bytes of files, as base64. */
export const MAX_SCENARIO_BYTES = 8_000_000;

/** Reads the YAML of a scenario. Never throws for a text. */
export async function readScenario(text: string): Promise<ReadScenario> {
  const { LineCounter } = await import('yaml');
  const lines = new LineCounter();
  const read = await parseYaml(text, MAX_SCENARIO_BYTES, lines);
  if (!('value' in read)) {
    const { line } = lines.linePos(read.at);
    const mistake = say('field.not-yaml', { why: read.message });
    return { problems: [{ line: Math.max(line, 1), field: '', mistake }] };
  }
  const { document, value } = read;
  const parsed = scenarioSchema.safeParse(value, { error: (issue) => usualMistake(issue)?.sentence });
  if (parsed.success) return { scenario: parsed.data };
  return { problems: parsed.error.issues.flatMap((issue) => problemsOf(issue, document, lines)) };
}

/** A problem as one sentence. */
export function sentenceOfProblem({ line, field, mistake }: ScenarioProblem): Said {
  return say('scenario.problem', { line, field: field || say('scenario.whole'), mistake });
}

function problemsOf(issue: z.core.$ZodIssue, document: Document, lines: LineCounter): ScenarioProblem[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  const at = (field: ReadonlyArray<string | number>, mistake: Said) => ({
    ...{ line: lineOf(field, document, lines), field: field.join('.'), mistake },
  });
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => at([...path, key], say('field.unknown-word')));
  }
  return [at(path, mistakeOf(issue, usualMistake))];
}

/** The line of the field, else of what should contain it. */
function lineOf(path: ReadonlyArray<string | number>, document: Document, lines: LineCounter): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true) as Node | undefined;
    const start = typeof node === 'object' ? node?.range?.[0] : undefined;
    if (start !== undefined) return lines.linePos(start).line;
  }
  return 1;
}

/** Messages for issues without one of their own. Each follows the field's name. */
function usualMistake(issue: z.core.$ZodRawIssue | z.core.$ZodIssue): Said | undefined {
  if (issue.code === 'unrecognized_keys' || issue.code === 'custom') return undefined;
  if (issue.input === undefined && 'input' in issue) return say('field.missing');
  if (issue.code === 'invalid_type') {
    const kind = KINDS[issue.expected];
    return say('param.must-be', { what: kind === undefined ? issue.expected : say(`param.${kind}`) });
  }
  if (issue.code === 'invalid_value') return oneOf(issue.values);
  if (issue.code === 'too_big') return say('field.at-most', { max: String(issue.maximum) });
  if (issue.code === 'too_small') return say('field.at-least', { min: String(issue.minimum) });
  return undefined;
}

const KINDS: Partial<Record<string, 'text' | 'whole' | 'number' | 'truth' | 'list' | 'names'>> = {
  string: 'text',
  int: 'whole',
  number: 'number',
  boolean: 'truth',
  array: 'list',
  object: 'names',
  record: 'names',
};
