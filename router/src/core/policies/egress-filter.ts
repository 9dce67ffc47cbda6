/** What was removed from a text, and how often. */
export interface Removed {
  kind: Leak;
  count: number;
}

type Leak = 'reasoning' | 'private-key' | 'secret' | 'stack-trace' | 'file-path' | 'private-address';

const MAX_PASSES = 20;

/** In place of a value that people must not see. */
export const REMOVED = '[removed]';

interface Rule {
  kind: Leak;
  /** A cheap test: without a match, the pattern is not applied. */
  hint: RegExp;
  pattern: RegExp;
  replacement: string;
}

const PRIVATE_HOST = String.raw`(?:10(?:\.\d{1,3}){3}|127(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2}|169\.254(?:\.\d{1,3}){2}|\[(?:::1|f[cd][\da-f]{2}:[\da-f:]*|fe80:[\da-f:]*)\])`;
const INTERNAL_NAME = String.raw`(?:localhost|host\.docker\.internal|(?:[a-z\d-]+\.){1,5}(?:internal|local|lan|cluster\.local|svc))`;

/** In this order: what an earlier rule removed is not seen by a later one. Bounded repetitions keep each linear. */
const RULES: readonly Rule[] = [
  {
    kind: 'reasoning',
    hint: /<\/?(?:think|thinking|reasoning)>/i,
    pattern: /<(think|thinking|reasoning)>[\s\S]*?(?:<\/\1>\s*|$)/gi,
    replacement: '',
  },
  {
    // A model whose template opens the block sends only its end.
    kind: 'reasoning',
    hint: /<\/(?:think|thinking|reasoning)>/i,
    pattern: /^[\s\S]*<\/(?:think|thinking|reasoning)>\s*/gi,
    replacement: '',
  },
  {
    kind: 'private-key',
    hint: /-----BEGIN/,
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}-----|$)/g,
    replacement: REMOVED,
  },
  {
    kind: 'stack-trace',
    hint: /Traceback \(most recent call last\)/,
    pattern:
      /^.*Traceback \(most recent call last\):[ \t]*(?:\n(?:[ \t].*|(?=\n)))*(?:\n[\w.]+(?:Error|Exception|Interrupt|Exit|Warning|Group)\b.*)?\n?/gm,
    replacement: '',
  },
  {
    // JavaScript, Java, .NET: the line of the error, and one line for each call.
    kind: 'stack-trace',
    hint: /^\s+at /m,
    pattern:
      /^(?:.*(?:Error|Exception)\b.*\n)?(?:[ \t]+at [^\n]*(?:[:(][^\n]*\)|:\d+(?::\d+)?|line \d+)[ \t]*(?:\n|$)(?:[ \t]*(?:\.\.\. \d+ more|Caused by: [^\n]*)(?:\n|$))?)+/gm,
    replacement: '',
  },
  {
    kind: 'stack-trace',
    hint: /^goroutine \d+ \[/m,
    pattern: /^(?:panic: .*\n\n?)?goroutine \d+ \[[^\]\n]*\]:\n(?:.+\n?)*/gm,
    replacement: '',
  },
  {
    kind: 'secret',
    hint: /sk-|pk-|rk_|AKIA|ASIA|gh[opusr]_|github_pat_|glpat-|xox|AIza|eyJ|hf_|npm_|dop_v1_|SG\.|ya29\./,
    pattern:
      /(?<![\w-])(?:(?:sk|pk)-[\w-]{20,200}|(?:sk|rk)_(?:live|test)_\w{16,200}|(?:AKIA|ASIA)[0-9A-Z]{16}|gh[opusr]_\w{30,255}|github_pat_\w{30,255}|glpat-[\w-]{20,100}|xox[abeoprs]-[\w-]{10,200}|AIza[\w-]{35}|eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{8,2000}|hf_\w{30,100}|npm_\w{36}|dop_v1_[a-f\d]{64}|SG\.[\w-]{16,64}\.[\w-]{16,64}|ya29\.[\w-]{20,400})(?![\w-])/g,
    replacement: REMOVED,
  },
  {
    kind: 'secret',
    hint: /bearer\s|basic\s/i,
    pattern: /(?<=\b(?:Bearer|Basic)[ \t]{1,4})[A-Za-z\d._~+/-]{16,4000}={0,2}/gi,
    replacement: REMOVED,
  },
  {
    kind: 'secret',
    hint: /api[_-]?key|secret|passw|token/i,
    pattern:
      /(?<=\b(?:[A-Z\d_]{0,40}(?:API_?KEY|SECRET|PASSWORD|TOKEN)[A-Z\d_]{0,20}|api[_-]?key|(?:client|access)[_-]secret|(?:access|refresh|auth)[_-]?token|x-api-key)["']?[ \t]{0,4}[:=][ \t]{0,4}["']?)(?=[^\s"'<>]*\d)[^\s"'<>[\]]{12,400}/g,
    replacement: REMOVED,
  },
  {
    kind: 'secret',
    hint: /:\/\/[^\s/@]*:[^\s/@]*@/,
    pattern: /(?<=\b[a-z][a-z\d+.-]{1,20}:\/\/)[^\s/@:]{0,100}:[^\s/@]{1,200}(?=@)/gi,
    replacement: REMOVED,
  },
  {
    kind: 'private-address',
    hint: /:\/\//,
    pattern: new RegExp(
      String.raw`\b(?:https?|wss?|postgres(?:ql)?|redis|amqp|mongodb|grpc|tcp)://(?:[^\s/@]{1,200}@)?(?:${PRIVATE_HOST}|${INTERNAL_NAME})(?::\d{1,5})?(?:/[^\s<>"')\]]*)?`,
      'gi',
    ),
    replacement: REMOVED,
  },
  {
    kind: 'private-address',
    hint: /\d\.\d|localhost|\.internal|\.local|\.lan|\.svc/i,
    pattern: new RegExp(
      String.raw`(?<![\w.-])(?<!\b[vV]ersion )(?:${PRIVATE_HOST}(?::\d{1,5})?|${INTERNAL_NAME}:\d{1,5})(?![\w.]*\d)(?![\w-])`,
      'gi',
    ),
    replacement: REMOVED,
  },
  {
    kind: 'file-path',
    hint: /[\\/]/,
    pattern:
      /(?<![\w/:.])(?:\/(?:home|Users)\/[^\s/"'`<>:]{1,100}|\/(?:root|app|workspace|usr\/src|usr\/local\/lib|usr\/lib|site-packages|node_modules|var\/task|opt\/\w{1,50}|srv|data)|[A-Za-z]:\\(?:Users|Windows|Program Files[^\\\n]{0,10})\\[^\s\\"'`<>:]{1,100})(?:[\\/][^\s\\/"'`<>:,;)]{1,200}){1,40}(?::\d{1,7}){0,2}/g,
    replacement: REMOVED,
  },
];

/**
 * Removes from an agent's text what must not reach a chat: secrets, private keys, stack traces, reasoning, internal file
 * paths, private addresses. Pure. Applied to its own result it changes nothing.
 * @returns the text, trimmed when something was removed (`` when nothing remains), and what was removed, by kind
 */
export function filterEgress(text: string): { text: string; removed: Removed[] } {
  const counts = new Map<Leak, number>();
  let rest = text;
  // What was removed may have hidden the start of something else.
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const filtered = applyRules(rest, counts);
    if (filtered === rest) break;
    rest = filtered.replace(/\n{3,}/g, '\n\n').trim();
  }
  if (counts.size === 0) return { text, removed: [] };
  return {
    text: isEmpty(rest) ? '' : rest,
    removed: [...counts].map(([kind, count]) => ({ kind, count })),
  };
}

function applyRules(text: string, counts: Map<Leak, number>): string {
  let filtered = text;
  for (const { kind, hint, pattern, replacement } of RULES) {
    if (!hint.test(filtered)) continue;
    filtered = filtered.replace(pattern, () => {
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return replacement;
    });
  }
  return filtered;
}

/** A text in which secrets and private keys are `[removed]`, for operators: paths, addresses and errors stay. Pure. */
export function withoutSecrets(text: string): string {
  let shown = text;
  for (const { kind, hint, pattern, replacement } of RULES) {
    if (kind !== 'secret' && kind !== 'private-key') continue;
    if (hint.test(shown)) shown = shown.replace(pattern, replacement);
  }
  return shown;
}

/** Nothing but placeholders, empty code blocks and punctuation. */
function isEmpty(text: string): boolean {
  return (
    text
      .replaceAll(REMOVED, '')
      .replace(/```/g, '')
      .replace(/[\p{P}\s]/gu, '') === ''
  );
}
