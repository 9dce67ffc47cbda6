import type { Request } from 'express';
import { HttpProblem } from './problem.ts';

const MULTIPART = /^multipart\/form-data *;/i;

/** A file of a form. */
export class UploadedFile {
  readonly bytes: Uint8Array;
  /** As its sender wrote it; may be wrong. */
  readonly mimeType: string;
  readonly fileName: string;

  constructor(bytes: Uint8Array, mimeType: string, fileName: string) {
    this.bytes = bytes;
    this.mimeType = mimeType;
    this.fileName = fileName;
  }
}

/** A part of a form: its name, and a text or a file. */
export interface FormPart {
  name: string;
  value: string | UploadedFile;
}

/** Whether the body of a request is a form with files. */
export function isForm(request: Pick<Request, 'get'>): boolean {
  return MULTIPART.test(request.get('content-type') ?? '');
}

/**
 * The parts of a `multipart/form-data` body, in their order.
 * @throws {HttpProblem} it is no such form
 */
export async function readForm(body: Uint8Array, contentType: string): Promise<FormPart[]> {
  let form: FormData;
  try {
    form = await new Response(Uint8Array.from(body), {
      headers: { 'content-type': contentType },
    }).formData();
  } catch {
    throw new HttpProblem(400, 'BAD_REQUEST', 'The body is not a valid multipart/form-data form.');
  }
  const parts: FormPart[] = [];
  for (const [name, value] of form) {
    const isText = typeof value === 'string';
    parts.push({ name, value: isText ? value : await uploaded(value) });
  }
  return parts;
}

async function uploaded(file: File): Promise<UploadedFile> {
  return new UploadedFile(new Uint8Array(await file.arrayBuffer()), file.type, file.name);
}
