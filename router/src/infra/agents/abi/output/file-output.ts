import { AgentProtocolError } from '../../../../core/errors.ts';
import { MAX_MEDIA_BYTES, type ReplyFile } from '../../../../core/models.ts';
import type { AbiFileOutput } from '../abi-settings.ts';
import { AbiDefinitionError, type AbiParam, type AbiValue, shortened, typeText } from '../codec/abi-type.ts';
import { type AbiFileKind, mediaTypeOf } from './media-type.ts';
import {
  literalText,
  type OutputTemplate,
  outputAt,
  parseOutputTemplate,
  renderTemplate,
  soleReference,
  withOutputAt,
} from './output-template.ts';

/** A parsed template of a file reply. */
export interface FileTemplate {
  kind: AbiFileKind;
  /** Path of the bytes in the outputs. */
  path: string[];
  mimeType?: OutputTemplate;
  fileName?: OutputTemplate;
  caption?: OutputTemplate;
}

/** A rendered file template; `shown` are the outputs for the message log, without the bytes. */
export interface RenderedFile {
  file: ReplyFile;
  caption?: string;
  shown: AbiValue[];
}

const KINDS: AbiFileKind[] = ['image', 'audio', 'document'];
const A: Record<AbiFileKind, string> = { image: 'an image', audio: 'audio', document: 'a document' };
const MIME_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}(?:; ?[\w-]{1,20}="?[\w.+-]{1,40}"?)?$/;
const MAX_FILE_NAME_CHARS = 200;

/**
 * Parses a template such as `{"image": "{{chart}}", "mimeType": "image/png", "caption": "{{title}}"}`, and checks it
 * against the outputs.
 * @throws {AbiDefinitionError} the template cannot give a file of its kind
 */
export function parseFileOutput(output: AbiFileOutput, outputs: readonly AbiParam[]): FileTemplate {
  const kinds = KINDS.filter((kind) => output[kind] !== undefined);
  const [kind] = kinds;
  if (!kind || kinds.length > 1)
    throw new AbiDefinitionError('must name exactly one of image, audio, document');
  const reference = soleReference(output[kind] ?? '', outputs);
  if (!reference) {
    throw new AbiDefinitionError(
      `has ${A[kind]} that is not one output, such as {{${outputs[0]?.name || '0'}}}`,
    );
  }
  if (reference.type.kind !== 'bytes') {
    const type = shortened(typeText(reference.type));
    throw new AbiDefinitionError(`makes ${A[kind]} of an output of type ${type}; only bytes can be one`);
  }
  const { mimeType, fileName, caption } = output;
  if (caption !== undefined && kind === 'audio') {
    throw new AbiDefinitionError('has a caption, which WhatsApp does not show with audio');
  }
  if (fileName !== undefined && kind !== 'document') {
    throw new AbiDefinitionError(`has a fileName, which WhatsApp does not show with ${A[kind]}`);
  }
  const template: FileTemplate = { kind, path: reference.path };
  if (mimeType !== undefined) {
    template.mimeType = parseOutputTemplate(mimeType, outputs);
    const literal = literalText(template.mimeType);
    const mistake = literal === undefined ? undefined : mimeTypeMistake(kind, literal);
    if (mistake) throw new AbiDefinitionError(`has a mimeType that ${mistake}`);
  }
  if (fileName !== undefined) template.fileName = parseOutputTemplate(fileName, outputs);
  if (caption !== undefined) template.caption = parseOutputTemplate(caption, outputs);
  return template;
}

/**
 * The file and the caption in an agent's outputs.
 * @throws {AgentProtocolError} the bytes are empty or above the limit, or the media type does not fit the kind
 */
export function renderFile(
  template: FileTemplate,
  outputs: readonly AbiParam[],
  values: readonly AbiValue[],
): RenderedFile {
  const { kind, path } = template;
  const hex = outputAt(path, outputs, values);
  const bytes = Buffer.from(typeof hex === 'string' ? hex.slice(2) : '', 'hex');
  if (bytes.length === 0) throw new AgentProtocolError(`The ABI agent answered ${A[kind]} with 0 bytes.`);
  if (bytes.length > MAX_MEDIA_BYTES) {
    throw new AgentProtocolError(
      `The ABI agent answered ${A[kind]} with ${bytes.length} bytes; at most ${MAX_MEDIA_BYTES} can be sent.`,
    );
  }
  const text = (part: OutputTemplate | undefined) => part && renderTemplate(part, outputs, values).trim();
  const mimeType = text(template.mimeType) || mediaTypeOf(bytes, kind);
  const mistake = mimeTypeMistake(kind, mimeType);
  if (mistake) throw new AgentProtocolError(`The ABI agent answered ${A[kind]} with a type that ${mistake}.`);
  const fileName = text(template.fileName)
    ?.replace(/[\p{Cc}/\\]/gu, '_')
    .slice(0, MAX_FILE_NAME_CHARS);
  const caption = text(template.caption);
  return {
    file: { kind, mimeType, ...(fileName && { fileName }), bytes },
    ...(caption && { caption }),
    shown: withOutputAt(path, outputs, values, `<${mimeType}, ${bytes.length} bytes>`),
  };
}

/** Why a text is not a MIME type of the kind; undefined when it is. */
function mimeTypeMistake(kind: AbiFileKind, text: string): string | undefined {
  if (!MIME_TYPE.test(text)) return `is not a MIME type: '${shortened(text)}'`;
  if (kind === 'document' || text.startsWith(`${kind}/`)) return undefined;
  return `is not a type of ${kind}: '${shortened(text)}'`;
}
