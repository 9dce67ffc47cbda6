/**
 * The marks by which models separate what they think, and the tools they call, from their answer. Servers that do not
 * separate them leave them in the text. The names are those of the chat templates: an element (`<think>`, also with a prefix as
 * in `<seed:think>`), brackets (Mistral), `◁think▷` (Kimi), special tokens (Cohere, DeepSeek, Kimi), `<|channel>` (Gemma), and
 * the channels of harmony (gpt-oss).
 */
const MARK =
  /<\/?\w{1,20}(?::\w{1,20})?(?:[\s=][^<>]{0,200})?>|\[\/?[A-Z_]{5,10}\]|◁\/?think▷|<\|channel>|<channel\|>|<[|｜][\w▁]{3,40}[|｜]>/g;

/** Elements, without their prefix. */
const REASONING_NAMES = new Set([
  'think',
  'thinking',
  'thought',
  'thoughts',
  'reasoning',
  'reflection',
  'scratchpad',
  'inner_monologue',
]);
const TOOL_NAMES = new Set([
  ...['tool_call', 'tool_calls', 'tool_response', 'tool_result', 'tool_use', 'invoke'],
  ...['function', 'function_call', 'function_calls'],
]);

const REASONING = 'reasoning';

/** What a special token begins or ends, by its name in lower case. */
const SPECIAL: Readonly<Record<string, Pick<Mark, 'name' | 'isEnd'>>> = {
  start_thinking: { name: REASONING, isEnd: false },
  end_thinking: { name: REASONING, isEnd: true },
  begin_of_thought: { name: REASONING, isEnd: false },
  end_of_thought: { name: REASONING, isEnd: true },
  start_action: { name: 'action', isEnd: false },
  end_action: { name: 'action', isEnd: true },
  tool_calls_section_begin: { name: 'section', isEnd: false },
  tool_calls_section_end: { name: 'section', isEnd: true },
  tool_calls_begin: { name: 'calls', isEnd: false },
  tool_calls_end: { name: 'calls', isEnd: true },
};

interface Mark {
  name: string;
  isEnd: boolean;
}

/** @returns undefined: the text is not a mark, such as `<details>` that does not contain reasoning */
function markOf(written: string): Mark | undefined {
  if (written === '<|channel>') return { name: 'channel', isEnd: false };
  if (written === '<channel|>') return { name: 'channel', isEnd: true };
  const isEnd = written[1] === '/';
  const inner = written.slice(isEnd ? 2 : 1, -1);
  if (written[0] === '◁') return { name: REASONING, isEnd };
  if (inner === 'THINK') return { name: REASONING, isEnd };
  if (inner.startsWith('TOOL')) return { name: inner, isEnd };
  if (inner[0] === '|' || inner[0] === '｜') {
    return SPECIAL[inner.slice(1, -1).replaceAll('▁', '_').toLowerCase()];
  }
  const [name = '', ...attributes] = inner.toLowerCase().split(/[\s=]/);
  const base = name.slice(name.indexOf(':') + 1);
  if (written[0] === '<' && REASONING_NAMES.has(base)) return { name: REASONING, isEnd };
  const isReasoning = base === 'details' && /reasoning/.test(attributes.join('='));
  if (base === 'details' && (isEnd || isReasoning)) return { name: base, isEnd };
  const isCall = base !== 'function' || isEnd || attributes.length > 0;
  return written[0] === '<' && TOOL_NAMES.has(base) && isCall ? { name: base, isEnd } : undefined;
}

/**
 * A model's text without its reasoning and its calls of tools: from each mark that begins a block to the mark that ends it, or
 * to the end of the text; and all before an end of reasoning without a beginning, which the model's prompt contained. In
 * code, and inside a sentence (`the <think> and </think> tags`), a mark is a word of the answer and stays. Linear in the text.
 * @returns the text, and the number of blocks
 */
export function withoutReasoning(text: string): { text: string; count: number } {
  const answer = finalChannel(text);
  const rest = answer === text ? withoutBlocks(text) : withoutBlocks(answer);
  const count = rest.count + (answer === text ? 0 : 1);
  const ended = withoutEndTokens(rest.text);
  if (ended !== rest.text) return { text: ended, count: count + 1 };
  return { text: rest.text, count };
}

function withoutBlocks(text: string): { text: string; count: number } {
  if (!/[<[◁]/.test(text)) return { text, count: 0 };
  const code = new CodeSpans(text);
  let kept = '';
  let count = 0;
  let at = 0;
  let open: string | undefined;
  for (const match of text.matchAll(MARK)) {
    const mark = markOf(match[0]);
    if (!mark || match.index < at) continue;
    const end = match.index + match[0].length;
    if (open !== undefined) {
      if (!mark.isEnd || mark.name !== open) continue;
      open = undefined;
    } else {
      if (code.includes(at, match.index)) continue;
      const isAtStart = isBlockStart(text, at, match.index);
      if (mark.isEnd) {
        if (mark.name !== REASONING || isInSentence(text, match.index, end, isAtStart)) continue;
        kept = '';
      } else if (isAtStart || isFollowedByBlock(text, end)) {
        kept += text.slice(at, match.index);
        open = mark.name;
      } else continue;
      count += 1;
    }
    at = end;
    while (open === undefined && at < text.length && text.charAt(at).trim() === '') at += 1;
  }
  if (count === 0) return { text, count };
  return { text: open === undefined ? kept + text.slice(at) : kept, count };
}

const SENTENCE_END = /[.!?…:;。！？\n\p{Extended_Pictographic}]/u;

/** Whether nothing but spaces, or the end of a sentence, is before a place; `from`: the end of the last block. */
function isBlockStart(text: string, from: number, at: number): boolean {
  let before = at;
  while (before > from && (text[before - 1] === ' ' || text[before - 1] === '\t')) before -= 1;
  return before === from || SENTENCE_END.test(text.charAt(before - 1));
}

/** After the word that a sentence is about comes a space or a punctuation mark; reasoning begins with a word or a line. */
function isFollowedByBlock(text: string, end: number): boolean {
  return end >= text.length || /[\p{L}\p{N}\n\r<{]/u.test(text.charAt(end));
}

function isInSentence(text: string, start: number, end: number, isAtStart: boolean): boolean {
  if (isAtStart) return false;
  const isAfterWord = /[\s"'“„«(]/u.test(text.charAt(start - 1));
  return isAfterWord || /[.,;)"'”»]/.test(text.charAt(end));
}

const BACKTICKS = /(?:`{1,}|~{3,})/g;

/** The code of a Markdown text: blocks between fences, and spans between backticks of one paragraph. */
class CodeSpans {
  readonly #runs: Array<{ start: number; end: number; isFence: boolean; partner?: number }>;
  #next = 0;

  constructor(text: string) {
    this.#runs = [...text.matchAll(BACKTICKS)].map(({ index, 0: { length } }) => ({
      start: index,
      end: index + length,
      isFence: length >= 3 && isLineStart(text, index),
    }));
    const fences = new Map<string, number>();
    let spans = new Map<number, number>();
    let paragraphEnd = text.length;
    for (let at = this.#runs.length - 1; at >= 0; at--) {
      const run = this.#runs[at] as { start: number; end: number; isFence: boolean; partner?: number };
      const length = run.end - run.start;
      if (run.isFence) {
        const mark = text.slice(run.start, run.end);
        const partner = fences.get(mark);
        if (partner !== undefined) run.partner = partner;
        if (isLineEnd(text, run.end)) fences.set(mark, run.end);
        continue;
      }
      // A paragraph ends at a blank line: what is behind it is not a partner.
      const blank = text.slice(run.end, paragraphEnd).search(/\n[ \t]{0,40}\n/);
      if (blank >= 0) spans = new Map();
      paragraphEnd = run.start;
      const partner = spans.get(length);
      if (partner !== undefined) run.partner = partner;
      spans.set(length, run.end);
    }
  }

  /** Whether a place is in code that begins after `from`. Places must be asked for in order. */
  includes(from: number, place: number): boolean {
    for (; this.#next < this.#runs.length; this.#next++) {
      const run = this.#runs[this.#next];
      if (!run || run.start > place) return false;
      if (run.start < from || run.partner === undefined) continue;
      if (run.partner > place) return true;
      while ((this.#runs[this.#next + 1]?.start ?? Infinity) < run.partner) this.#next += 1;
    }
    return false;
  }
}

function isLineStart(text: string, at: number): boolean {
  let before = at;
  while (before > at - 4 && text[before - 1] === ' ') before -= 1;
  return before === 0 || text[before - 1] === '\n';
}

function isLineEnd(text: string, at: number): boolean {
  return /^[ \t]{0,10}(?:\r?\n|$)/.test(text.slice(at, at + 12));
}

const CHANNEL = '<|channel|>';
const FINAL_CHANNEL = '<|channel|>final<|message|>';
/** A channel of harmony, at the start of a text or line, or after another channel. */
const CHANNEL_START =
  /(?:^|\n|<\|(?:start|end|return|call)\|>)(?:<\|start\|>)?(?:assistant)?[ \t]{0,4}<\|channel\|>[\w. =]{1,80}(?:<\||$)/;
/** As `CHANNEL_START`, where the server removed the special tokens. */
const BARE_CHANNEL = /^analysis(?=[\p{Lu}\p{N}"])/u;
const BARE_FINAL = 'assistantfinal';

/** The last channel that is meant for the person; the whole text when it has no channels. */
function finalChannel(text: string): string {
  if (text.includes(CHANNEL) && CHANNEL_START.test(text)) {
    const at = text.lastIndexOf(FINAL_CHANNEL);
    if (at < 0) return '';
    const body = text.slice(at + FINAL_CHANNEL.length);
    const end = body.search(/<\|(?:end|return|start|call)\|>/);
    return end < 0 ? body : body.slice(0, end);
  }
  const bare = BARE_CHANNEL.test(text) ? text.lastIndexOf(BARE_FINAL) : -1;
  return bare < 0 ? text : text.slice(bare + BARE_FINAL.length);
}

const END_TOKEN =
  /(?:<\|(?:im_end|endoftext|end_of_text|eot_id|eom_id|eot|end|return|call|END_RESPONSE|end_of_solution)\|>|<｜end▁of▁sentence｜>|<(?:end|start)_of_turn>|<\/s>)$/;

/** A text without the special tokens that end it. */
function withoutEndTokens(text: string): string {
  let end = text.length;
  for (;;) {
    const shown = text.slice(Math.max(0, end - 60), end).trimEnd();
    const token = END_TOKEN.exec(shown);
    if (!token) return end === text.length ? text : text.slice(0, end).trimEnd();
    // Blank characters after the token belong to it.
    end = Math.max(0, end - 60) + shown.length - token[0].length;
  }
}

const TRACEBACK = 'Traceback (most recent call last):';
const PYTHON_ERROR = /^[\w.]+$/;
const PYTHON_ERROR_ENDS = ['Error', 'Exception', 'Interrupt', 'Exit', 'Warning', 'Group'];
const GOROUTINE = /^goroutine \d+ \[[^\]]*\]:$/;
const CALL = /^[ \t]+at /;
const ERROR_LINE = /(?:Error|Exception)\b/;
const MORE = /^[ \t]*(?:\.\.\. \d+ more$|Caused by: )/;
/** What a frame calls: one name, with the words that JavaScript puts around it. */
const CALLEE = /^(?:async |new |get |set )?[^\s()]+(?: \[as [^\]\s]{1,100}\])? ?$/;
/** Places without a line. */
const NAMED_PLACES = new Set(['<anonymous>', 'native', 'native code', 'Native Method', 'Unknown Source']);
/** The end of a place, in the last characters of a line: `:3:9` behind a name, `a.js:3`, `a.cs:line 3`, `B.java`, `index 0`. */
const PLACES = [
  /[\w>]:\d{1,9}:\d{1,9}$/,
  /\.[A-Za-z]{1,8}:\d{1,9}$/,
  /\.[A-Za-z]{1,8}:? ?line \d{1,9}$/,
  /\w\.(?:java|kt|scala|groovy)$/,
  /^index \d{1,9}$/,
];
const PLACE_CHARS = 32;

/**
 * Removes stack traces of Python, JavaScript, Java, .NET and Go, with the line of their error. Reads each line once.
 * @returns the text without them, and their number
 */
export function withoutStackTraces(text: string): { text: string; count: number } {
  if (!text.includes('Traceback (') && !text.includes(' at ') && !text.includes('\tat ')) {
    if (!text.includes('goroutine ')) return { text, count: 0 };
  }
  const lines = text.split('\n');
  const kept: string[] = [];
  let count = 0;
  for (let at = 0; at < lines.length; ) {
    const end = traceEnd(lines, at);
    if (end === undefined) {
      kept.push(lines[at] as string);
      at += 1;
    } else {
      count += 1;
      at = end;
      // The trace was the end of the text: the line break before it stays.
      if (end >= lines.length) kept.push('');
    }
  }
  return count === 0 ? { text, count } : { text: kept.join('\n'), count };
}

/** The line after the trace that begins here; undefined: none does. */
function traceEnd(lines: readonly string[], at: number): number | undefined {
  const line = lines[at] as string;
  if (isTraceback(line)) return pythonEnd(lines, at + 1);
  if (isCall(line)) return callsEnd(lines, at);
  const next = lines[at + 1];
  if (next === undefined) return undefined;
  if (ERROR_LINE.test(line) && isCall(next)) return callsEnd(lines, at + 1);
  const isPanic = line.startsWith('panic: ');
  const begin = isPanic ? (next === '' ? at + 2 : at + 1) : at;
  // A trace in the last line has no calls.
  const isGo = GOROUTINE.test(lines[begin] ?? '') && begin + 1 < lines.length;
  return isGo ? filledEnd(lines, begin + 1) : undefined;
}

function isTraceback(line: string): boolean {
  const at = line.lastIndexOf(TRACEBACK);
  return at >= 0 && line.slice(at + TRACEBACK.length).trim() === '';
}

/** After the indented and empty lines, and the line of the error. */
function pythonEnd(lines: readonly string[], from: number): number {
  let at = from;
  while (at < lines.length && (/^[ \t]/.test(lines[at] as string) || isEmptyBefore(lines, at))) at += 1;
  const [name = ''] = (lines[at] ?? '').split(/[^\w.]/, 1);
  const isError = PYTHON_ERROR.test(name) && PYTHON_ERROR_ENDS.some((end) => name.endsWith(end));
  return isError ? at + 1 : at;
}

function isEmptyBefore(lines: readonly string[], at: number): boolean {
  return lines[at] === '' && at + 1 < lines.length;
}

function callsEnd(lines: readonly string[], from: number): number {
  let at = from;
  while (at < lines.length && isCall(lines[at] as string)) {
    at += 1;
    if (MORE.test(lines[at] ?? '')) at += 1;
  }
  return at;
}

function filledEnd(lines: readonly string[], from: number): number {
  let at = from;
  while (at < lines.length && lines[at] !== '') at += 1;
  return at;
}

/** `    at run (file.js:3:9)`, `    at file.js:3:9`, `\tat com.a.B.c(B.java:12)`, `   at X.Y() in /a.cs:line 3`. */
function isCall(line: string): boolean {
  const start = CALL.exec(line)?.[0].length;
  if (start === undefined) return false;
  const shown = line.slice(start).trimEnd();
  if (!shown.endsWith(')')) return isPlace(shown);
  const open = shown.lastIndexOf('(');
  const callee = shown.slice(0, open);
  const place = shown.slice(open + 1, -1);
  if (isPlace(place)) return true;
  if (!CALLEE.test(callee)) return false;
  return (
    NAMED_PLACES.has(place) || (/[A-Za-z]\.[A-Za-z_<]/.test(callee.slice(-200)) && !callee.endsWith(' '))
  );
}

/** Where a call is: in a file or a module. A time such as 10:30, or 10:30:15, is none. */
function isPlace(place: string): boolean {
  return (
    PLACES.some((end) => end.test(place.slice(-PLACE_CHARS))) &&
    /[A-Za-z<]/.test(place) &&
    !/ \d{1,2}:\d\d(?::\d\d)?$/.test(place)
  );
}
