import { detectMediaType, type GivenFile, kindOf, sendableFile } from '../delivery/agent-file.ts';
import { FileRefusedError, isRetryable, MediaError, StorageUnavailableError, Wa2aiError } from '../errors.ts';
import { Slots } from '../keyed-queue.ts';
import type { Logger } from '../logger.ts';
import type { TraceStep } from '../messages/inbound-message.ts';
import type { AgentResponse, FileLink, NoTranscript, ReplyFile } from '../models.ts';
import { say } from '../phrases.ts';
import type { TranscribeSettings } from '../policies/conversation-fields.ts';
import type { ReplyStep } from '../policies/reply.ts';
import type { Transcripts } from '../ports/converters.ts';
import type { Inbox } from '../ports/inbox.ts';
import type {
  LinkedFile,
  MarkdownPicture,
  MediaLinks,
  MediaSource,
  MessageFiles,
  Pictures,
  WebFiles,
} from '../ports/media.ts';
import type { PendingTurn } from './turn.ts';

/** Pictures of one answer that are loaded; further ones stay text. */
const MAX_PICTURES = 5;
/** Files of one answer that are loaded from addresses; further ones stay text. */
const MAX_FILES = 5;

/** An answer with its pictures as files, and what was done, for the trace. */
interface WithPictures {
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
    const why = say('web-file.web-page');
    throw new FileRefusedError(say('web-file.not-loaded', { host: new URL(link.url).host, why }));
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

/** Files in memory at a time, however many turns need one. */
const DOWNLOADS_AT_ONCE = 4;
/** Files in memory that are being stored; further ones are not stored. */
const MAX_SAVING = 8;

interface StoredMediaDeps {
  inbox: Pick<Inbox, 'mediaReference'>;
  /** Loads a file of an account by the provider's own reference. @throws {MediaError} {StorageUnavailableError} */
  download(file: Pick<LinkedFile, 'accountId' | 'reference'>, signal: AbortSignal): Promise<Uint8Array>;
  /** A new reference to a file that WhatsApp deleted; undefined when this node does not have the account's connection. */
  reload(accountId: string, reference: string): Promise<string | undefined>;
  links: MediaLinks;
  /** Files that were loaded before. Absent: each is loaded from the provider each time. */
  files?: MessageFiles;
  log: Logger;
}

/**
 * The files of stored messages: the inbox has the provider's reference to one, the provider loads it. What was loaded once is
 * stored, so that it is there when WhatsApp does not have it any more.
 */
export class StoredMedia implements MediaSource {
  readonly #deps: StoredMediaDeps;
  readonly #slots = new Slots(DOWNLOADS_AT_ONCE);
  #saving = 0;

  constructor(deps: StoredMediaDeps) {
    this.#deps = deps;
  }

  async load(
    { messageId, accountId }: Pick<PendingTurn, 'messageId' | 'accountId'>,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const reference = await this.#deps.inbox.mediaReference(messageId);
    if (!reference) throw new MediaError('MEDIA_GONE', say('media.no-reference'));
    return this.#load({ accountId, messageId, reference }, signal);
  }

  async urlOf({
    messageId,
    accountId,
    message: { media },
  }: Pick<PendingTurn, 'messageId' | 'accountId' | 'message'>): Promise<string | undefined> {
    const { links, inbox } = this.#deps;
    if (!links.isOn || !media) return undefined;
    const reference = await inbox.mediaReference(messageId);
    if (!reference) return undefined;
    const { mimeType, fileName } = media;
    return links.urlOf({
      ...{ accountId, messageId, reference, mimeType },
      ...(fileName !== undefined && { fileName }),
    });
  }

  /**
   * The file that a link leads to.
   * @throws {MediaError} {StorageUnavailableError}
   */
  async loadLinked(
    token: string,
    signal: AbortSignal,
  ): Promise<{ file: LinkedFile; bytes: Uint8Array } | 'expired' | 'unknown'> {
    const file = await this.#deps.links.open(token);
    if (typeof file === 'string') return file;
    return { file, bytes: await this.#load(file, signal) };
  }

  async #load(
    { accountId, messageId, reference }: Pick<LinkedFile, 'accountId' | 'messageId' | 'reference'>,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const stored = messageId === undefined ? undefined : await this.#stored(messageId);
    if (stored) return stored;
    const bytes = await this.#loadFromProvider({ accountId, reference }, signal);
    if (messageId !== undefined) void this.#save(messageId, bytes);
    return bytes;
  }

  /** A store that cannot be used is not a reason to do without the file: the provider may have it. */
  async #stored(messageId: string): Promise<Uint8Array | undefined> {
    const { files, log } = this.#deps;
    try {
      return await files?.load(messageId);
    } catch (error) {
      if (!(error instanceof MediaError)) throw error;
      log.warn({ err: error, messageId }, 'stored file not readable, loading it again');
      return undefined;
    }
  }

  /** Nobody waits for it, and no failure reaches the caller: the file is stored when it is loaded the next time. */
  async #save(messageId: string, bytes: Uint8Array): Promise<void> {
    const { files, log } = this.#deps;
    if (!files || this.#saving >= MAX_SAVING) return;
    this.#saving += 1;
    try {
      await files.save(messageId, bytes);
    } catch (error) {
      log.warn({ err: error, messageId }, 'file of a message not stored');
    } finally {
      this.#saving -= 1;
    }
  }

  async #loadFromProvider(
    { accountId, reference }: Pick<LinkedFile, 'accountId' | 'reference'>,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    try {
      return await this.#download({ accountId, reference }, signal);
    } catch (error) {
      if (!(error instanceof MediaError) || error.code !== 'MEDIA_GONE') throw error;
      signal.throwIfAborted();
      const fresh = await this.#deps.reload(accountId, reference).catch(() => undefined);
      if (!fresh) throw error;
      return await this.#download({ accountId, reference: fresh }, signal);
    }
  }

  #download(file: Pick<LinkedFile, 'accountId' | 'reference'>, signal: AbortSignal): Promise<Uint8Array> {
    return this.#slots.run(() => {
      signal.throwIfAborted();
      return this.#deps.download(file, signal);
    });
  }
}

export interface TranscribeDeps {
  /** Absent: voice messages stay files. */
  transcripts?: Transcripts;
  inbox: Pick<Inbox, 'saveTranscript'>;
  stopping: AbortSignal;
  log: Logger;
}

/** The turn with the words of its voice message as the text, and what was done, for the trace. */
export interface Transcribed {
  turn: PendingTurn;
  step?: TraceStep;
}

const NOBODY_SPEAKS: NoTranscript = {
  outcome: 'empty',
  ...say('transcript.empty'),
};

/**
 * Turns a voice message without a text into text, after the texts that were merged with it. Without a transcript the message
 * goes on as a file. The result is stored, also that there is none: a turn that starts again asks for nothing.
 * @param settings absent: nothing is done
 * @throws {StorageUnavailableError} the turn is repeated · the stopping signal's reason
 */
export async function transcribeVoice(
  deps: TranscribeDeps,
  turn: PendingTurn,
  settings: TranscribeSettings | undefined,
): Promise<Transcribed> {
  const { message, merged } = turn;
  if (message.media?.kind !== 'voice') return { turn };
  if (message.isTranscript) return { turn, step: transcribed() };
  if (message.noTranscript) return { turn, step: { step: 'transcribe', ...message.noTranscript } };
  if (!settings || !deps.transcripts || (message.text !== '' && !merged)) return { turn };
  const result = await resultOf(deps, deps.transcripts, turn, settings);
  await deps.inbox.saveTranscript(turn.messageId, result);
  if (!('text' in result)) {
    const noTranscript = result;
    const step = { step: 'transcribe', ...noTranscript };
    return { turn: { ...turn, message: { ...message, noTranscript } }, step };
  }
  const text = message.text === '' ? result.text : `${message.text}\n${result.text}`;
  return { turn: { ...turn, message: { ...message, text, isTranscript: true } }, step: transcribed() };
}

async function resultOf(
  { stopping, log }: TranscribeDeps,
  transcripts: Transcripts,
  turn: PendingTurn,
  settings: TranscribeSettings,
): Promise<{ text: string } | NoTranscript> {
  try {
    const text = await transcripts.textOf(turn, settings, stopping);
    return text === '' ? NOBODY_SPEAKS : { text };
  } catch (error) {
    stopping.throwIfAborted();
    if (error instanceof StorageUnavailableError || !(error instanceof Wa2aiError)) throw error;
    log.warn({ err: error, isRetryable: isRetryable(error) }, 'voice message not transcribed');
    return { outcome: 'failed', ...error.said };
  }
}

function transcribed(): TraceStep {
  return {
    step: 'transcribe',
    outcome: 'transcribed',
    ...say('transcript.made'),
  };
}
