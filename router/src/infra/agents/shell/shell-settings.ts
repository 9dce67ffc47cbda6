import { z } from 'zod';
import type { AttemptStore } from '../../../core/agent-client.ts';
import { ANY_CHANNEL, canonicalChannelId } from '../../../core/chat-id.ts';
import { isImageName } from '../../../core/hosting/agent-life.ts';
import { PHRASES, say } from '../../../core/phrases.ts';
import type { TextMatcher } from '../../../core/ports/converters.ts';
import { MAX_PATTERN_CHARS, regexProblem } from '../../../core/routing/regex-problem.ts';
import type { SettingsProblem } from '../agent-kind.ts';
import { apiKeyField, secretField } from '../setting-fields.ts';

/** Commands that a person must confirm when the route names no patterns. */
const DEFAULT_CONFIRM = [
  '\\brm\\b[^;|&]*\\s-[a-zA-Z]*[rRf]',
  '\\b(mkfs|fdisk|parted|shred|wipefs)\\b',
  '\\bdd\\b[^;|&]*\\bof=',
  '\\b(shutdown|reboot|halt|poweroff)\\b',
  '\\bch(mod|own)\\b[^;|&]*\\s-[a-zA-Z]*R',
  '\\bgit\\b[^;|&]*\\b(push\\b[^;|&]*(--force|\\s-f\\b)|reset\\b[^;|&]*--hard|clean\\b[^;|&]*-[a-zA-Z]*f)',
  '>\\s*/dev/[hsv]d',
  '\\bkill(all)?\\b[^;|&]*\\s-(9|KILL|SIGKILL)\\b',
  '\\b(curl|wget)\\b[^;&]*\\|\\s*(ba|da|z)?sh\\b',
  ':\\s*\\(\\s*\\)\\s*\\{',
];

/** Settings of a route to a shell; `shellProblems` makes the checks that a schema cannot express. */
export const shellSettings = z.strictObject({
  allow: z
    .array(z.string().max(100))
    .min(1, PHRASES['field.some-channel-id'])
    .max(1_000)
    .describe(
      'channelIds of the people who may use the shell; everybody else is refused. In a group, the group must be in the list too. `*` is refused.',
    ),
  image: z
    .string()
    .max(500)
    .refine(isImageName, PHRASES['field.shell-image'])
    .optional()
    .describe(
      'Image of the containers that wa2ai starts, one for each person and chat: that of `runtime-server/`, or one with `swerex-remote`. The route then has no `agentEndpoint`.',
    ),
  idleMinutes: z
    .number()
    .min(0.01)
    .max(43_200)
    .optional()
    .describe('With `image`: the container stops after so many minutes without work. Default: 30.'),
  token: apiKeyField
    .optional()
    .describe(
      'Sent to the runtime at `agentEndpoint` as `X-API-Key`. Stored; the API shows `***`. Default: no key, which runtimes refuse.',
    ),
  cwd: z
    .string()
    .max(1_000)
    .startsWith('/', PHRASES['field.absolute-path'])
    .optional()
    .describe('Folder that a new session begins in. Default: that of the runtime.'),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/), secretField)
    .optional()
    .describe('Variables of each session. Stored; the API shows `***` for each value.'),
  timeoutMs: z
    .int()
    .min(100)
    .max(86_400_000)
    .optional()
    .describe('A command that runs longer is interrupted, in milliseconds. Default: 600000.'),
  maxOutputChars: z
    .int()
    .min(100)
    .max(60_000)
    .optional()
    .describe('Output with more characters is sent as a document. Default: 3000.'),
  confirm: z
    .array(z.string().min(1).max(MAX_PATTERN_CHARS))
    .max(100)
    .optional()
    .describe(
      'Patterns (ECMAScript) of commands that run only after the person has answered `yes`. Default: commands that delete or overwrite much, such as `rm -r`.',
    ),
});

export type ShellSettings = z.output<typeof shellSettings>;

/** Mistakes that the schema does not find. */
export function shellProblems({ allow, confirm = [] }: ShellSettings): SettingsProblem[] {
  const people = allow.flatMap((written, index) => {
    const channelId = canonicalChannelId(written);
    if (channelId !== undefined && channelId !== ANY_CHANNEL) return [];
    const said = say(channelId === ANY_CHANNEL ? 'field.some-person' : 'field.not-channel-id');
    return [{ field: `allow[${index}]`, said }];
  });
  const patterns = confirm.flatMap((pattern, index) => {
    const said = regexProblem(pattern);
    return said === undefined ? [] : [{ field: `confirm[${index}]`, said }];
  });
  return [...people, ...patterns];
}

/** A question that nobody answered is void after this. */
const MAX_AGE_MS = 10 * 60_000;
/** Longer commands are always asked about. */
const MAX_MATCHED_CHARS = 4_000;

const stateSchema = z.object({
  /** The command that waits for a yes. */
  command: z.string().optional(),
  askedAtMs: z.number().optional(),
  /** The message that said yes, and its command: a repeat of the message runs the same one. */
  confirmedBy: z.string().optional(),
  confirmed: z.string().optional(),
  /** The message that was not a yes: a repeat of it is none either. */
  declinedBy: z.string().optional(),
});
type State = z.output<typeof stateSchema>;
type Store = Pick<AttemptStore, 'session' | 'saveSession'>;

/** Whether a command runs only after a yes: a pattern matches it, or takes too long. Without a matcher every command does. */
export async function needsYes(
  matcher: TextMatcher | undefined,
  command: string,
  patterns: readonly string[] = DEFAULT_CONFIRM,
): Promise<boolean> {
  if (patterns.length === 0) return false;
  if (!matcher || command.length > MAX_MATCHED_CHARS) return true;
  for (const pattern of patterns) if ((await matcher.test(pattern, command)) !== 'no-match') return true;
  return false;
}

/** The question of a chat whether a command may run. It is stored, so it survives a restart. */
export class ShellQuestion {
  readonly #store: Store;
  readonly #nowMs: number;

  constructor(store: Store, nowMs: number) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /** Asks about a command; an older question is void. */
  async ask(command: string): Promise<void> {
    await this.#save({ command, askedAtMs: this.#nowMs });
  }

  /**
   * Takes a message as the answer to the open question; the same message always gets the same result.
   * @returns the confirmed command, `no`, or undefined when no question is open
   */
  async answer(messageId: string, text: string): Promise<{ confirmed: string } | 'no' | undefined> {
    const state = await this.#read();
    if (state.confirmedBy === messageId && state.confirmed !== undefined)
      return { confirmed: state.confirmed };
    if (state.declinedBy === messageId) return 'no';
    if (state.command === undefined) return undefined;
    const isOpen = this.#nowMs - (state.askedAtMs ?? 0) <= MAX_AGE_MS;
    const isYes = isOpen && /^\s*yes[.!]?\s*$/i.test(text);
    const isNo = !isYes && (isOpen || /^\s*(yes|no)[.!]?\s*$/i.test(text));
    const declined = isNo ? { declinedBy: messageId } : {};
    await this.#save(isYes ? { confirmedBy: messageId, confirmed: state.command } : declined);
    if (isYes) return { confirmed: state.command };
    return isNo ? 'no' : undefined;
  }

  async #read(): Promise<State> {
    const stored = await this.#store.session();
    try {
      return stateSchema.parse(JSON.parse(stored?.contextId ?? '{}'));
    } catch {
      return {};
    }
  }

  async #save(state: State): Promise<void> {
    await this.#store.saveSession({ contextId: JSON.stringify(state) });
  }
}
