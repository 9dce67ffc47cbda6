import type { ChatId } from '../../core/chat-id.ts';
import type { Clock } from '../../core/clock.ts';
import { type Phrase, type Said, say } from '../../core/phrases.ts';
import type { TextMatcher } from '../../core/ports/converters.ts';
import {
  DEFAULT_WITHIN_MS,
  type Expectation,
  fileOfStep,
  type Scenario,
  type ScenarioChat,
  type ScenarioFile,
  type ScenarioMessage,
  type ScenarioStep,
  type ScenarioWorld,
  type ScenarioWriting,
  type ShownEvent,
  StepFailedError,
} from './scenario.ts';

/** What became of one step. */
export interface StepResult {
  /** From 1. */
  number: number;
  /** The step, in words. */
  step: string;
  outcome: 'passed' | 'failed' | 'skipped';
  ms: number;
  /** What the account said, or why the step failed. */
  detail?: string;
  /** Why it failed. */
  phrase?: Phrase;
}

export interface ScenarioResult {
  name: string;
  isPassed: boolean;
  steps: StepResult[];
}

interface RunScenarioDeps {
  world: ScenarioWorld;
  matcher: TextMatcher;
  clock: Pick<Clock, 'monotonicMs'>;
  /** Called after each step. */
  onStep?(result: StepResult): void;
}

/** Longest wait of one request for events. */
const POLL_MS = 10_000;

/** A chat that the scenario uses, and how far its events were judged. */
interface OpenChat {
  id: ChatId;
  cursor: string;
  /** Id of the last message of each person. */
  written: Map<string, string>;
}

/**
 * Runs the steps of a scenario one after the other; after a failed one, the others are skipped. What the scenario made is
 * deleted at the end.
 * @throws what the world throws besides {StepFailedError}: the service does not answer
 */
export async function runScenario(
  deps: RunScenarioDeps,
  scenario: Scenario,
  signal?: AbortSignal,
): Promise<ScenarioResult> {
  const run = new ScenarioRun(deps, scenario);
  const steps: StepResult[] = [];
  try {
    for (const [index, step] of scenario.steps.entries()) {
      const isSkipped = signal?.aborted || steps.some(({ outcome }) => outcome === 'failed');
      const result = isSkipped ? run.skipped(step) : await run.step(step);
      const numbered = { number: index + 1, ...result };
      steps.push(numbered);
      deps.onStep?.(numbered);
    }
  } finally {
    await deps.world.close();
  }
  const isPassed = steps.every(({ outcome }) => outcome === 'passed');
  return { name: scenario.name ?? 'Scenario', isPassed, steps };
}

class ScenarioRun {
  readonly #deps: RunScenarioDeps;
  readonly #scenario: Scenario;
  readonly #chats = new Map<string, OpenChat>();
  /** Who wrote last, and in which group. */
  #as = '';
  #group: string | undefined;

  constructor(deps: RunScenarioDeps, scenario: Scenario) {
    this.#deps = deps;
    this.#scenario = scenario;
    this.#group = scenario.group;
  }

  skipped(step: ScenarioStep): Omit<StepResult, 'number'> {
    this.#take(step);
    return { step: describeStep(step, this.#as), outcome: 'skipped', ms: 0 };
  }

  async step(step: ScenarioStep): Promise<Omit<StepResult, 'number'>> {
    const { clock } = this.#deps;
    this.#take(step);
    const beganMs = clock.monotonicMs();
    const result = (outcome: StepResult['outcome'], detail?: string, phrase?: Phrase) => ({
      ...{ step: describeStep(step, this.#as), outcome, ms: Math.round(clock.monotonicMs() - beganMs) },
      ...(detail !== undefined && { detail }),
      ...(phrase && { phrase }),
    });
    try {
      return result('passed', await this.#do(step));
    } catch (error) {
      if (!(error instanceof StepFailedError)) throw error;
      return result('failed', error.said.sentence, error.said.phrase);
    }
  }

  /** A step without a person or a group continues those of the step before. */
  #take({ as, group }: ScenarioStep): void {
    if (as !== undefined) {
      this.#as = as;
      this.#group = this.#scenario.group;
    }
    if (group !== undefined) this.#group = group;
  }

  /** @returns what the account said @throws {StepFailedError} */
  async #do(step: ScenarioStep): Promise<string | undefined> {
    const { world } = this.#deps;
    const chat = await this.#chat();
    if (step.expect) return this.#expect(chat, step.expect);
    if (step.silence !== undefined) {
      await this.#silence(chat, step.silence);
      return undefined;
    }
    const id = await world.write(chat.id, await this.#writingOf(chat, step));
    if (step.say !== undefined || step.send !== undefined) chat.written.set(this.#as, id);
    return undefined;
  }

  async #writingOf(chat: OpenChat, step: ScenarioStep): Promise<ScenarioWriting> {
    const { say: text, react, edit, mention, quote } = step;
    const as = this.#phoneOf(this.#as) ?? this.#as;
    if (react !== undefined) {
      const { id } = await this.#message(chat, isOfAccount, say('scenario.nothing-to-react-to'));
      return { as, reaction: { to: id, emoji: react } };
    }
    if (edit !== undefined || step.delete) {
      const id = chat.written.get(this.#as);
      if (id === undefined) throw new StepFailedError(say('scenario.nothing-written', { person: this.#as }));
      return edit === undefined ? { as, delete: id } : { as, edit: id, text: edit };
    }
    const file = fileOfStep(step);
    if (file && 'path' in file)
      throw new StepFailedError(say('scenario.file-not-loaded', { path: file.path }));
    return {
      as,
      ...(text !== undefined && { text }),
      ...(file && { file: file satisfies ScenarioFile }),
      ...(mention && { mention }),
      ...(quote !== undefined && { quote: (await this.#quoted(chat, quote)).id }),
    };
  }

  #quoted(chat: OpenChat, quote: true | string): Promise<ScenarioMessage> {
    if (quote === true) return this.#message(chat, isOfAccount, say('scenario.nothing-to-quote'));
    return this.#message(
      chat,
      ({ text }) => text.includes(quote),
      say('scenario.no-message', { text: quoted(quote) }),
    );
  }

  /** @throws {StepFailedError} there is none */
  async #message(
    chat: OpenChat,
    isWanted: (message: ScenarioMessage) => boolean,
    said: Said,
  ): Promise<ScenarioMessage> {
    const found = (await this.#deps.world.messages(chat.id)).find(isWanted);
    if (!found) throw new StepFailedError(said);
    return found;
  }

  /** Waits for what is expected. What is said before it counts as seen, and only `not` is about it. */
  async #expect(chat: OpenChat, expected: Expectation): Promise<string> {
    const { matcher } = this.#deps;
    const withinMs = expected.withinMs ?? DEFAULT_WITHIN_MS;
    const said: ShownEvent[] = [];
    const found = await this.#watch(chat, withinMs, async (event) => {
      const verdict = await judgeEvent(expected, event, matcher);
      if (verdict === 'forbidden')
        throw new StepFailedError(say('scenario.said', { text: quoted(wordsOf(event)) }));
      if (isSaid(event) || event.kind === 'reaction') said.push(event);
      return verdict === 'fits';
    });
    if (found) return wordsOf(found);
    const instead = said.map((event) => quoted(wordsOf(event))).join(', ');
    throw new StepFailedError(
      said.length === 0
        ? say('scenario.silent', { ms: withinMs })
        : say('scenario.said-instead', { text: instead }),
    );
  }

  async #silence(chat: OpenChat, ms: number): Promise<void> {
    const found = await this.#watch(chat, ms, async (event) => breaksSilence(event));
    if (found) throw new StepFailedError(say('scenario.said', { text: quoted(wordsOf(found)) }));
  }

  /** The first event within the time that `isWanted`; it and those before it count as seen. */
  async #watch(
    chat: OpenChat,
    limitMs: number,
    isWanted: (event: ShownEvent) => Promise<boolean>,
  ): Promise<ShownEvent | undefined> {
    const { world, clock } = this.#deps;
    const endMs = clock.monotonicMs() + limitMs;
    for (;;) {
      const leftMs = Math.max(0, Math.ceil(endMs - clock.monotonicMs()));
      const events = await world.events(chat.id, chat.cursor, Math.min(leftMs, POLL_MS));
      for (const event of events) {
        chat.cursor = event.id;
        if (await isWanted(event)) return event;
      }
      if (leftMs === 0) return undefined;
    }
  }

  async #chat(): Promise<OpenChat> {
    const key = this.#group === undefined ? `person ${this.#as}` : `group ${this.#group}`;
    const known = this.#chats.get(key);
    if (known) return known;
    const { world } = this.#deps;
    const id = await world.open(this.#chatToOpen());
    const chat: OpenChat = { id, cursor: '0', written: new Map() };
    // A chat that continues has events of before.
    for (;;) {
      const last = (await world.events(id, chat.cursor, 0)).at(-1);
      if (!last) break;
      chat.cursor = last.id;
    }
    this.#chats.set(key, chat);
    return chat;
  }

  #chatToOpen(): ScenarioChat {
    const group = this.#group;
    if (group === undefined) return { kind: 'person', name: this.#as, people: [this.#person(this.#as)] };
    const names = new Set<string>([this.#as]);
    let [place, writer] = [this.#scenario.group, this.#as];
    for (const step of this.#scenario.steps) {
      if (step.as !== undefined) [place, writer] = [this.#scenario.group, step.as];
      place = step.group ?? place;
      if (place === group && writer !== '') names.add(writer);
    }
    return { kind: 'group', name: group, people: [...names].map((name) => this.#person(name)) };
  }

  #person(name: string): ScenarioChat['people'][number] {
    const phone = this.#phoneOf(name);
    return { name, ...(phone !== undefined && { phone }) };
  }

  #phoneOf(name: string): string | undefined {
    const named = this.#scenario.people?.[name];
    return named ?? (/^\+?[\d\s()-]{5,}$/.test(name) ? name : undefined);
  }
}

function isOfAccount({ direction }: ScenarioMessage): boolean {
  return direction === 'outgoing';
}

/** `other`: the expectation is about something else, or not met yet. `forbidden`: what must not be said was said. */
type Verdict = 'fits' | 'forbidden' | 'other';

/** Whether an event meets an expectation. */
async function judgeEvent(expected: Expectation, event: ShownEvent, matcher: TextMatcher): Promise<Verdict> {
  const { reaction, file, not, withinMs: _, ...ofText } = expected;
  if (reaction !== undefined) {
    return event.kind === 'reaction' && event.emoji === reaction ? 'fits' : 'other';
  }
  if (!isSaid(event)) return 'other';
  if (not && (await anyHolds(not, event, matcher))) return 'forbidden';
  if (file !== undefined && event.file?.kind !== file) return 'other';
  return (await allHold(ofText, event, matcher)) ? 'fits' : 'other';
}

/** Whether an event is something that the account says: a message, or its new text. */
function isSaid(event: ShownEvent): event is ShownEvent & { kind: 'message' } {
  return event.kind === 'message' && event.special !== 'deletion';
}

/** Whether it breaks a silence. A new text of a message that was shown before does not. */
function breaksSilence(event: ShownEvent): boolean {
  return isSaid(event) && event.special !== 'edit';
}

/** What an event says, in one line. */
function wordsOf(event: ShownEvent): string {
  if (event.kind === 'reaction') return `reaction ${event.emoji}`;
  if (event.kind !== 'message') return event.kind;
  const file = event.file && `[${event.file.kind}${event.file.fileName ? ` ${event.file.fileName}` : ''}]`;
  const special = event.special && event.special !== 'edit' ? `[${event.special}]` : undefined;
  return [file, special, event.text].filter(Boolean).join(' ');
}

type OfText = NonNullable<Expectation['not']>;

type SaidEvent = ShownEvent & { kind: 'message' };

async function allHold(wanted: OfText, said: SaidEvent, matcher: TextMatcher): Promise<boolean> {
  return (await holding(wanted, said, matcher)).every(Boolean);
}

async function anyHolds(wanted: OfText, said: SaidEvent, matcher: TextMatcher): Promise<boolean> {
  return (await holding(wanted, said, matcher)).some(Boolean);
}

/** Of each assertion, whether it holds. A pattern that takes too long does not. */
async function holding(
  { contains, equals, matches, quotes }: OfText,
  { text, quotedText }: SaidEvent,
  matcher: TextMatcher,
): Promise<boolean[]> {
  return [
    ...(contains === undefined ? [] : [has(text, contains)]),
    ...(equals === undefined ? [] : [text === equals]),
    ...(quotes === undefined ? [] : [quotedText !== undefined && has(quotedText, quotes)]),
    ...(matches === undefined ? [] : [(await matcher.test(matches, text)) === 'match']),
  ];
}

function has(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

const MAX_CHARS = 80;

/** A step as a person reads it in a report. */
function describeStep(step: ScenarioStep, writer: string): string {
  const { say, send, react, edit, expect, silence, group } = step;
  const place = group === undefined ? '' : ` in ${group}`;
  if (silence !== undefined) return `expect silence for ${silence} ms`;
  if (expect)
    return `expect ${describeExpectation(expect)} within ${expect.withinMs ?? DEFAULT_WITHIN_MS} ms`;
  if (react !== undefined)
    return react === '' ? `${writer} takes a reaction back` : `${writer} reacts ${react}`;
  if (edit !== undefined) return `${writer} edits${place}: ${quoted(edit)}`;
  if (step.delete) return `${writer} deletes a message${place}`;
  if (send === undefined) return `${writer} says${place}: ${quoted(say ?? '')}`;
  const file = fileOfStep(step);
  const named = file && ('path' in file ? file.path : (file.fileName ?? 'a file'));
  return `${writer} sends${place}: ${named}${say === undefined ? '' : `, ${quoted(say)}`}`;
}

function describeExpectation({ reaction, file, not, ...ofText }: Expectation): string {
  if (reaction !== undefined) return `the reaction ${reaction}`;
  const parts = [
    ...(file === undefined ? [] : [`has a file: ${file}`]),
    ...assertions(ofText),
    ...(not ? assertions(not).map((each) => `not: ${each}`) : []),
  ];
  return parts.length === 0 ? 'a message' : `a message that ${parts.join(', ')}`;
}

function assertions(wanted: NonNullable<Expectation['not']>): string[] {
  const { contains, equals, matches, quotes } = wanted;
  return [
    ...(contains === undefined ? [] : [`contains ${quoted(contains)}`]),
    ...(equals === undefined ? [] : [`equals ${quoted(equals)}`]),
    ...(matches === undefined ? [] : [`matches ${quoted(matches)}`]),
    ...(quotes === undefined ? [] : [`quotes ${quoted(quotes)}`]),
  ];
}

/** In quotation marks, in one line. */
function quoted(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return `“${line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line}”`;
}
