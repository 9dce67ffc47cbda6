import { z } from 'zod';
import type { ReplyFile } from '../models.ts';
import { PHRASES } from '../phrases.ts';
import type { SpecialMessage } from './special-message.ts';

/** The media type of a file that is a location, contacts or a poll, in the place that each protocol has for files. */
export const SPECIAL_TYPE = 'application/vnd.wa2ai+json';

const text = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .refine((value) => value.trim() !== '', PHRASES['field.not-blank']);

const location = z.strictObject({
  latitude: z.number().min(-90).max(90),
  longitude: z.number().min(-180).max(180),
  name: text(200).optional(),
  address: text(1_000).optional(),
});
const contact = z.strictObject({
  name: text(200),
  phone: z
    .string()
    .transform((phone) => phone.replace(/[\s().+-]/g, ''))
    .refine((digits) => /^[1-9]\d{6,14}$/.test(digits), 'must be a phone number with its country code'),
});
const poll = z
  .strictObject({
    question: text(255),
    options: z
      .array(text(100))
      .min(2)
      .max(12)
      .refine((options) => new Set(options).size === options.length, PHRASES['field.different']),
    selectable: z.int().min(0).max(12).default(1),
  })
  .refine(({ selectable, options }) => selectable <= options.length, {
    path: ['selectable'],
    error: PHRASES['field.options-max'],
  });

/** What such a file contains: the fields of `POST /api/messages`. */
const specialFields = z.union([
  z.strictObject({ location }),
  z.strictObject({ contacts: z.array(contact).min(1).max(20) }),
  z.strictObject({ poll }),
]);

export function isSpecial({ mimeType }: Pick<ReplyFile, 'mimeType'>): boolean {
  return mimeType.toLowerCase().startsWith(SPECIAL_TYPE);
}

/**
 * The message that a file of this type is; undefined when it is none.
 * @param secret opens the votes of a poll, base64
 */
export function readSpecial({ bytes }: Pick<ReplyFile, 'bytes'>, secret: string): SpecialMessage | undefined {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
  const found = specialFields.safeParse(json).data;
  if (!found) return undefined;
  if ('location' in found) return { kind: 'location', ...found.location };
  if ('contacts' in found) return { kind: 'contacts', contacts: found.contacts };
  return { kind: 'poll', ...found.poll, secret };
}
