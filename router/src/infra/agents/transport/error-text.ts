import { z } from 'zod';
import { decodeEntities } from '../../../core/html-entities.ts';
import { parsedJson } from './body-text.ts';

const MAX_ERROR_CHARS = 500;

/**
 * A refusal's body as one short line for an operator: a web page without markup and stack trace, a validation report
 * (`{"detail":[{loc,msg,input}]}`) without the input that it quotes, everything else as sent. At most 500 characters.
 */
export function errorText(body: string): string {
  const text = body.trim();
  if (text.startsWith('<')) return shorten(textOfPage(text));
  return shorten(validationReport(text) ?? text);
}

function textOfPage(html: string): string {
  const text = decodeEntities(
    withoutHiddenElements(html.slice(0, 20_000))
      .replace(/<br\s*\/?>/gi, '\n')
      .replace(/<[^<>]*>/g, ' '),
  );
  return (
    text
      .split(/\n[ \t]*at\s/)[0]
      ?.replace(/\s+/g, ' ')
      .trim() ?? ''
  );
}

/** Removes scripts, styles and the title; an element without an end is removed with all that follows. Linear time. */
function withoutHiddenElements(html: string): string {
  const lower = html.toLowerCase();
  const parts: string[] = [];
  let at = 0;
  for (const { 0: start, 1: name, index } of lower.matchAll(/<(script|style|title)\b/g)) {
    if (index < at) continue;
    parts.push(html.slice(at, index));
    const end = lower.indexOf(`</${name}`, index + start.length);
    if (end < 0) return parts.join(' ');
    at = end;
  }
  return [...parts, html.slice(at)].join(' ');
}

const reportSchema = z.looseObject({
  detail: z.array(z.looseObject({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() })).min(1),
});

function validationReport(text: string): string | undefined {
  const report = reportSchema.safeParse(parsedJson(text));
  return report.data?.detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
}

function shorten(text: string): string {
  return text.length > MAX_ERROR_CHARS ? `${text.slice(0, MAX_ERROR_CHARS)}…` : text;
}
