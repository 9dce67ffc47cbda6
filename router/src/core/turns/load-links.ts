import { kindOf } from '../delivery/agent-file.ts';
import { detectMediaType } from '../delivery/media-type.ts';
import { type GivenFile, sendableFile } from '../delivery/sendable-file.ts';
import { FileRefusedError } from '../errors.ts';
import type { AgentResponse, FileLink, ReplyFile } from '../models.ts';
import { say } from '../phrases.ts';
import type { ReplyStep } from '../policies/reply.ts';
import type { MarkdownPicture, Pictures } from '../ports/pictures.ts';
import type { WebFiles } from '../ports/web-files.ts';

/** Pictures of one answer that are loaded; further ones stay text. */
const MAX_PICTURES = 5;
/** Files of one answer that are loaded from addresses; further ones stay text. */
const MAX_FILES = 5;

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
  const wanted = pictures
    .find(markdown)
    .filter(({ url }: MarkdownPicture) => isAllowed(url, hosts))
    .slice(0, MAX_PICTURES);
  const steps: ReplyStep[] = [];
  const loaded = await Promise.all(
    wanted.map(async ({ raw, url }) => {
      try {
        const file = sendableFile('image', await pictures.files.load(url, { signal, hosts }));
        return { raw, file };
      } catch (error) {
        if (!(error instanceof FileRefusedError)) throw error;
        steps.push({ step: 'pictures', outcome: 'failed', ...error.said });
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
  const count = files.length;
  const sentence = say('answer.pictures', {
    pictures: say(count === 1 ? 'count.picture' : 'count.pictures', { count }),
  });
  steps.push({ step: 'pictures', outcome: 'loaded', ...sentence });
  return { response: { ...response, response: text, files: [...files, ...(response.files ?? [])] }, steps };
}

/**
 * The answer with the files that it names by URL, where their host is allowed; the address of each other one becomes a line
 * of the text, as that of one that cannot be loaded.
 * @param hosts as in `withPictures`
 * @throws the signal's reason when it aborts
 */
export async function withLinkedFiles(
  web: WebFiles | undefined,
  { fileLinks = [], ...response }: AgentResponse,
  hosts: readonly string[],
  signal?: AbortSignal,
): Promise<WithPictures> {
  if (fileLinks.length === 0) return { response, steps: [] };
  const steps: ReplyStep[] = [];
  const load = async (link: FileLink, index: number): Promise<ReplyFile | undefined> => {
    if (!web || index >= MAX_FILES || !isAllowed(link.url, hosts)) return undefined;
    try {
      return fileOf(link, await web.load(link.url, { signal, hosts }));
    } catch (error) {
      if (!(error instanceof FileRefusedError)) throw error;
      steps.push({ step: 'files', outcome: 'failed', ...error.said });
      return undefined;
    }
  };
  const loaded = await Promise.all(fileLinks.map(load));
  const files = loaded.filter((file) => file !== undefined);
  const lines = fileLinks.flatMap(({ url, fileName }, index) =>
    loaded[index] || !isWebAddress(url) ? [] : [fileName ? `${fileName}: ${url}` : url],
  );
  if (files.length > 0) {
    const count = files.length;
    const sentence = say('answer.files', {
      files: say(count === 1 ? 'count.file' : 'count.files', { count }),
    });
    steps.push({ step: 'files', outcome: 'loaded', ...sentence });
  }
  const text = [response.response ?? '', ...lines].filter((part) => part.trim() !== '').join('\n');
  return {
    response: {
      ...response,
      ...(text !== '' && { response: text }),
      ...(files.length > 0 && { files: [...(response.files ?? []), ...files] }),
    },
    steps,
  };
}

/** As the kind that its bytes show; what WhatsApp does not show as such a kind is a document. */
function fileOf(link: FileLink, loaded: GivenFile): ReplyFile {
  const { bytes, mimeType = '' } = loaded;
  if (/^text\/html\b/i.test(mimeType) && !/^text\/html\b/i.test(link.mimeType ?? '')) {
    throw new FileRefusedError(`The file was not loaded: ${new URL(link.url).host} sent a web page.`);
  }
  const type = detectMediaType(bytes) ?? link.mimeType ?? mimeType;
  const fileName = link.fileName ?? loaded.fileName;
  const given = { bytes, mimeType: type, ...(fileName !== undefined && { fileName }) };
  try {
    return sendableFile(kindOf(type), given);
  } catch (error) {
    if (!(error instanceof FileRefusedError)) throw error;
    return sendableFile('document', given);
  }
}

function isAllowed(url: string, hosts: readonly string[]): boolean {
  return isWebAddress(url) && hosts.includes(new URL(url).host);
}

function isWebAddress(url: string): boolean {
  return URL.canParse(url) && /^https?:/i.test(url);
}

/** The text without this part; an empty paragraph that it leaves goes too. */
function without(text: string, part: string): string {
  const at = text.indexOf(part);
  const before = text.slice(0, at);
  const after = text.slice(at + part.length);
  const isAlone = /(?:^|\n)[ \t]*$/.test(before) && /^[ \t]*(?:\n|$)/.test(after);
  return (isAlone ? `${before.trimEnd()}\n\n${after.trimStart()}` : before + after).trim();
}
