import { call, type Schemas } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';

type Writing = Schemas['PlaygroundWriting'];

/** The API takes no larger files. */
export const MAX_FILE_BYTES = 10_000_000;

/** Writes as an invented person. @throws {Problem} */
export async function write(chatId: string, body: Writing): Promise<void> {
  await call('POST /api/playground/chats/{id}/messages', { path: { id: chatId }, body });
}

/** A file as the API takes it. */
export async function fileOf(file: Blob, name?: string): Promise<NonNullable<Writing['file']>> {
  return {
    data: await base64(file),
    ...(file.type !== '' && { mimeType: file.type }),
    ...(name !== undefined && { fileName: name }),
  };
}

/**
 * Sends a recording as a voice note. Where the service cannot convert it, a recording that WhatsApp plays goes as a sound.
 * @throws {Problem}
 */
export async function writeVoice(chatId: string, as: string, recording: Blob): Promise<void> {
  const file = await fileOf(recording);
  try {
    await write(chatId, { as, file: { ...file, kind: 'voice' } });
  } catch (error) {
    const isSound = /^audio\/mp4/.test(recording.type);
    if (!(error instanceof Problem) || error.status !== 422 || !isSound) throw error;
    await write(chatId, { as, file: { ...file, kind: 'audio' } });
  }
}

/** The bytes of a file in base64. */
export function base64(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => {
      const url = String(reader.result);
      resolve(url.slice(url.indexOf(',') + 1));
    };
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
