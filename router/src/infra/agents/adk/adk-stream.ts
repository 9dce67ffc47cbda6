import { type AdkEvent, parseEvents, textOfReply } from './adk-wire.ts';

/** The events of a run as `/run_sse` sends them, one after the other. */
export class AdkStream {
  /** The complete events so far, as `/run` would answer them. */
  readonly events: AdkEvent[] = [];
  /** What the server sent instead of an event when the run failed. */
  failure: string | undefined;
  /** What is wrong with an event; see `parseEvents`. */
  problem: string | undefined;
  readonly #onText: (textSoFar: () => string) => void;
  /** The partial events since the last complete one. */
  #written = '';

  /** @param onText gets the text of the newest reply as far as it is written */
  constructor(onText: (textSoFar: () => string) => void) {
    this.#onText = onText;
  }

  /** The stream ended in the middle of a reply: its complete event is missing. */
  get isCut(): boolean {
    return this.#written.trim() !== '';
  }

  /** @param data the data of one server-sent event */
  add(data: string): void {
    if (/^\s*\{\s*"error"\s*:/.test(data)) this.failure ??= data;
    const parsed = parseEvents(`[${data}]`);
    if (!parsed.ok) this.problem ??= parsed.problem;
    if (this.failure !== undefined || !parsed.ok) return;
    for (const event of parsed.value) this.#read(event);
  }

  /** Of parallel branches nothing is shown: the answer has the texts of all. */
  #read(event: AdkEvent): void {
    const text = textOfReply(event);
    if (!event.partial) this.events.push(event);
    const shown = event.partial ? this.#written + (text ?? '') : text;
    this.#written = event.partial ? (shown ?? '') : '';
    if (text !== undefined && shown && !event.branch) this.#onText(() => shown);
  }
}
