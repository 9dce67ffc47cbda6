import { createHash } from 'node:crypto';
import type { ApiResponse } from './response.ts';

/** A speech bubble. */
const FAVICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230b7a55' d='M2 2h12v9H7l-4 3v-3H2z'/%3E%3C/svg%3E";

const STYLE = `
:root { color-scheme: light dark; --back: #f5f7f6; --card: #fff; --text: #15201b; --faint: #55635d; --line: #dde4e0;
  --accent: #0a6f4d; --on-accent: #fff; --good: #0d6e4c; --busy: #855300; --bad: #b3261e; --bad-back: #fdeae8; }
@media (prefers-color-scheme: dark) { :root { --back: #0e1412; --card: #161e1b; --text: #e6eeea; --faint: #a3b3ac;
  --line: #2a3632; --accent: #43c997; --on-accent: #06251a; --good: #56d3a4; --busy: #ecba5e; --bad: #ff9b92; --bad-back: #3b1e1c; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; padding: 1.5rem 1rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; display: grid; place-content: center; grid-template-columns: minmax(0, 27rem); }
header { display: flex; justify-content: space-between; align-items: center; margin: 0 .25rem .75rem; gap: 1rem; }
header > a { display: inline-flex; align-items: center; gap: .625rem; color: inherit; text-decoration: none; font-size: 1.125rem; font-weight: 700; }
header svg { width: 1.875rem; height: 1.875rem; padding: .375rem; border-radius: .5rem; background: var(--accent); color: var(--on-accent);
  fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linejoin: round; }
header span { color: var(--faint); font-size: .875rem; overflow-wrap: anywhere; }
main { background: var(--card); border: 1px solid var(--line); border-radius: 1rem; padding: 1.5rem; overflow-wrap: break-word; }
h1 { font-size: 1.375rem; line-height: 1.25; margin: 0 0 .5rem; }
p { margin: 0 0 .75rem; }
a { color: var(--accent); }
ol, ul { margin: 0 0 .75rem; padding-left: 1.4rem; }
li { margin: .25rem 0; }
.state { display: inline-flex; align-items: center; gap: .5rem; margin: 0 0 .75rem; font-size: .875rem; font-weight: 600; }
.state::before { content: ''; width: .625rem; height: .625rem; border-radius: 50%; background: currentColor; }
.good { color: var(--good); } .busy { color: var(--busy); } .bad { color: var(--bad); }
.faint { color: var(--faint); font-size: .875rem; }
.qr { display: block; width: min(100%, 18rem); height: auto; margin: 1rem auto; padding: .75rem; background: #fff;
  border: 1px solid var(--line); border-radius: .75rem; }
.code { margin: 1rem 0; padding: 1rem .5rem; border: 2px dashed var(--line); border-radius: .75rem; text-align: center;
  font: 700 clamp(1.5rem, 9vw, 2.25rem)/1.2 ui-monospace, monospace; letter-spacing: .12em; white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem 1rem; margin: 0 0 .75rem; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
form, .buttons { margin: 1rem 0 0; padding-top: 1rem; border-top: 1px solid var(--line); display: grid; gap: .5rem; }
label { font-size: .875rem; font-weight: 600; }
input, button { font: inherit; padding: .625rem .75rem; border-radius: .5rem; width: 100%; }
input { border: 1px solid var(--faint); background: var(--back); color: inherit; }
button { border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent); font-weight: 600; cursor: pointer; }
button.quiet { background: transparent; color: var(--accent); }
details { margin: 1.25rem 0 0; padding-top: 1rem; border-top: 1px solid var(--line); }
details form { margin: .75rem 0 0; padding: 0; border: 0; }
summary { cursor: pointer; font-weight: 600; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
footer { margin: 1rem 0 0; } main > :last-child, main > :last-child > :last-child { margin-bottom: 0; }
body.wide { grid-template-columns: minmax(0, 60rem); align-content: start; }
body.sided { grid-template-columns: 15rem minmax(0, 60rem); grid-template-areas: "head head" "side main"; gap: 0 1.5rem; justify-content: center; }
.sided header { grid-area: head; } .sided main { grid-area: main; } aside { grid-area: side; }
aside form { margin: 0 0 1rem; padding: 0; border: 0; } aside li { margin: 0; } aside li a { display: block; padding: .25rem .5rem; border-radius: .5rem; text-decoration: none; }
aside [aria-current] { background: var(--card); font-weight: 600; } .found { padding-left: 1.75rem; } .found p { margin: 0 0 .5rem; }
@media (min-width: 56.01rem) { aside { position: sticky; top: 1rem; align-self: start; max-height: calc(100vh - 2rem); overflow-y: auto; padding: .25rem; } }
@media (max-width: 56rem) { body.sided { grid-template-columns: minmax(0, 1fr); grid-template-areas: "head" "main" "side"; row-gap: 1rem; } }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: 0 0 1rem; }
th, td { border: 1px solid var(--line); padding: .375rem .625rem; text-align: left; vertical-align: top; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: .75rem; background: var(--back); border-radius: .5rem; font-size: .875rem; }
.wide pre { white-space: pre; overflow-x: auto; }
@media (max-width: 40rem) {
  table:not(:has(th:nth-child(3))) { display: table; th, td { overflow-wrap: anywhere; min-width: 6.75rem; } }
  table:has(th:nth-child(3)) td:last-child { min-width: 15rem; }
}
img { max-width: 100%; } h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
h2 { font-size: 1.125rem; margin: 1.25rem 0 .5rem; }
.plain { list-style: none; padding: 0; } .plain .state { margin: 0; }
[role=alert]:empty { display: none; } [role=alert] { color: var(--bad); background: var(--bad-back); border-radius: .5rem; padding: .625rem .75rem; font-weight: 600; margin: .5rem 0 0; }
`;

/** A complete page without external assets, with a policy that lets nothing else run or load. */
export function page(input: {
  status: number;
  title: string;
  /** Shown beside the name of the service. */
  aside?: string | Html;
  main: Html;
  /** JavaScript; without it the page reloads itself every `reloadSeconds`. */
  script?: string;
  reloadSeconds?: number;
  /** Default: English. */
  language?: string;
  /** A page to read, with tables, instead of a card. */
  isWide?: boolean;
  /** Beside the page, on a narrow screen below it. */
  side?: Html;
  /** Where the start page is, seen from this one. */
  home?: string;
}): ApiResponse {
  const { reloadSeconds, script } = input;
  const document = html`<!doctype html>
<html lang="${input.language ?? 'en'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${input.title} · wa2ai</title>
<link rel="icon" href="${FAVICON}">
<style>${new Html(STYLE)}</style>
${reloadSeconds !== undefined && html`<noscript><meta http-equiv="refresh" content="${reloadSeconds}"></noscript>`}
</head>
<body class="${input.side ? 'wide sided' : input.isWide && 'wide'}">
<header><a href="${input.home ?? './'}"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 4h16v12H9l-5 4z"/></svg>wa2ai</a><span>${input.aside}</span></header>
<main>${input.main}</main>
${input.side && html`<aside>${input.side}</aside>`}
${script !== undefined && html`<script>${new Html(script)}</script>`}
</body>
</html>
`;
  return {
    status: input.status,
    headers: pagePolicy(script),
    html: document.toString(),
  };
}

/** The policy of a page: only this very style and script run, and nothing of another site. */
export function pagePolicy(script?: string): { 'content-security-policy': string } {
  const policy = [
    "default-src 'none'",
    `style-src ${hashSource(STYLE)}`,
    `script-src ${script === undefined ? "'none'" : hashSource(script)}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return { 'content-security-policy': policy.join('; ') };
}

function hashSource(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Markup that is safe to write as it is. Only `html` makes it. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

type Part = Html | string | number | undefined | false | readonly Part[];

/** Template for markup. Escapes every value except other `html`, omits undefined and false, and joins lists. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  const pieces = strings.flatMap((text, i) => [text, i < parts.length ? written(parts[i]) : '']);
  return new Html(pieces.join(''));
}

function written(part: Part): string {
  if (part instanceof Html) return part.toString();
  if (Array.isArray(part)) return part.map(written).join('');
  if (part === undefined || part === false) return '';
  return String(part).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}
