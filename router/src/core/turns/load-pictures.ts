import { sendableFile } from '../delivery/sendable-file.ts';
import { FileRefusedError } from '../errors.ts';
import type { AgentResponse, ReplyFile } from '../models.ts';
import type { ReplyStep } from '../policies/reply.ts';
import type { MarkdownPicture, Pictures } from '../ports/pictures.ts';

/** Pictures of one answer that are loaded; further ones stay text. */
const MAX_PICTURES = 5;

/** An answer with its pictures as files, and what was done, for the trace. */
export interface WithPictures {
  response: AgentResponse;
  steps: ReplyStep[];
}

/**
 * The answer with the pictures of its Markdown as files, where their host is allowed; each other one stays in the text, as one
 * that cannot be loaded.
 * @param hosts `example.com` or `example.com:8443`; none: nothing is done
 * @param pictures absent: nothing is done
 * @throws the signal's reason when it aborts
 */
export async function withPictures(
  pictures: Pictures | undefined,
  response: AgentResponse,
  hosts: readonly string[],
  signal?: AbortSignal,
): Promise<WithPictures> {
  const { response: markdown = '', isPlain } = response;
  if (!pictures || hosts.length === 0 || isPlain || markdown === '') return { response, steps: [] };
  const isAllowed = ({ url }: MarkdownPicture) =>
    URL.canParse(url) && /^https?:/i.test(url) && hosts.includes(new URL(url).host);
  const wanted = pictures.find(markdown).filter(isAllowed).slice(0, MAX_PICTURES);
  const steps: ReplyStep[] = [];
  const loaded = await Promise.all(
    wanted.map(async ({ raw, url }) => {
      try {
        const file = sendableFile('image', await pictures.files.load(url, { signal, hosts }));
        return { raw, file };
      } catch (error) {
        if (!(error instanceof FileRefusedError)) throw error;
        steps.push({ step: 'pictures', outcome: 'failed', sentence: error.message });
        return undefined;
      }
    }),
  );
  let text = markdown;
  const files: ReplyFile[] = [];
  for (const picture of loaded) {
    if (!picture) continue;
    files.push(picture.file);
    text = without(text, picture.raw);
  }
  if (files.length === 0) return { response, steps };
  const sentence = `${files.length} ${files.length === 1 ? 'picture' : 'pictures'} of the answer's Markdown became files.`;
  steps.push({ step: 'pictures', outcome: 'loaded', sentence });
  return { response: { ...response, response: text, files: [...files, ...(response.files ?? [])] }, steps };
}

/** The text without this part; an empty paragraph that it leaves goes too. */
function without(text: string, part: string): string {
  const at = text.indexOf(part);
  const before = text.slice(0, at);
  const after = text.slice(at + part.length);
  const isAlone = /(?:^|\n)[ \t]*$/.test(before) && /^[ \t]*(?:\n|$)/.test(after);
  return (isAlone ? `${before.trimEnd()}\n\n${after.trimStart()}` : before + after).trim();
}
