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
