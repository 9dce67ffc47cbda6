import { z } from 'zod';
import { digitsOf } from './participants.ts';

const number = z
  .string()
  .transform(digitsOf)
  .refine((digits) => /^\d{6,15}$/.test(digits), 'must be a phone number of 6 to 15 digits');
const addressing = z.enum(['pn', 'lid']);
const text = z.string().min(1).max(65_536);
const messageId = z.string().min(1).max(128);
const count = z.number().int().min(1).max(10_000).default(1);
const device = z.string().optional();
const groupJid = z.string().regex(/^[\d-]+@g\.us$/, 'must be a group id like 120363000000000001@g.us');

/** Bodies of the control API. Unknown fields are refused, because a misspelt one would have no effect. */
export const requests = {
  person: z.strictObject({
    phone: number,
    name: z.string().min(1).max(100).optional(),
    lid: z
      .string()
      .regex(/^\d{6,15}$/)
      .optional(),
    via: addressing.optional(),
    receipts: z.enum(['delivery', 'read', 'none', 'hold']).optional(),
    receiptDelayMs: z.number().int().min(0).max(600_000).optional(),
  }),
  group: z.strictObject({
    subject: z.string().min(1).max(100),
    members: z.array(number).min(2).max(1_024),
    addressing: addressing.optional(),
    jid: groupJid.optional(),
  }),
  say: z.strictObject({
    to: z.string().min(1),
    text,
    id: messageId.optional(),
    via: addressing.optional(),
    timestamp: z.number().int().min(0).optional(),
    quoted: z.strictObject({ id: messageId, author: z.string().min(1), text: text.optional() }).optional(),
    kind: z.enum(['plain', 'extended', 'ephemeral', 'image', 'view-once', 'document']).default('plain'),
    isCorrupt: z.boolean().optional(),
  }),
  edit: z.strictObject({
    to: z.string().min(1),
    id: messageId,
    text,
    encrypted: z.strictObject({ author: addressing, editor: addressing }).optional(),
  }),
  redeliver: z.strictObject({ id: messageId }),
  habit: z.strictObject({
    receipts: z.enum(['delivery', 'read', 'none', 'hold']).optional(),
    receiptDelayMs: z.number().int().min(0).max(600_000).optional(),
  }),
  scan: z.strictObject({ qr: z.string().min(1), phone: number.optional() }),
  code: z.strictObject({ code: z.string().min(8).max(9), phone: number.optional() }),
  account: z.strictObject({ phone: number.optional() }),
  nothing: z.strictObject({}),
  fault: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('drop'), device }),
    z.strictObject({ kind: z.literal('silence'), device }),
    z.strictObject({
      kind: z.literal('end-stream'),
      code: z.literal([401, 403, 405, 408, 428, 440, 500, 503, 515]),
      device,
    }),
    z.strictObject({ kind: z.literal('slow'), delayMs: z.number().int().min(0).max(60_000) }),
    z.strictObject({
      kind: z.literal('refuse-upgrades'),
      count,
      status: z.number().int().min(400).max(599).default(503),
    }),
    z.strictObject({ kind: z.literal('fail-logins'), count, reason: z.number().int().default(503) }),
    z.strictObject({ kind: z.literal('withhold-acks'), count, isLost: z.boolean().default(false) }),
    z.strictObject({ kind: z.literal('refuse-messages'), count, code: z.number().int().default(463) }),
    z.strictObject({ kind: z.literal('refuse-contacts'), phones: z.array(number).max(100) }),
    z.strictObject({
      kind: z.literal('lock-new-contacts'),
      forMs: z.number().int().min(0).max(2_592_000_000),
    }),
    z.strictObject({
      kind: z.literal('count-new-chats'),
      used: z.number().int().min(0),
      quota: z.number().int().min(0),
      forMs: z.number().int().min(0).max(2_592_000_000),
    }),
    z.strictObject({ kind: z.literal('duplicate'), count }),
    z.strictObject({ kind: z.literal('corrupt'), count }),
    z.strictObject({ kind: z.literal('endless-offline'), isOn: z.boolean().default(true) }),
    z.strictObject({ kind: z.literal('ignore-pings'), isOn: z.boolean().default(true) }),
    z.strictObject({ kind: z.literal('ignore-look-ups'), isOn: z.boolean().default(true) }),
    z.strictObject({ kind: z.literal('refuse-versions'), below: z.number().int().min(0) }),
    z.strictObject({ kind: z.literal('current-version'), revision: z.number().int().min(0) }),
    z.strictObject({ kind: z.literal('clear') }),
  ]),
  transcriptQuery: z.object({
    after: z.coerce.number().int().min(0).default(0),
    waitMs: z.coerce.number().int().min(0).max(60_000).default(0),
  }),
  replyQuery: z.object({ timeoutMs: z.coerce.number().int().min(0).max(60_000).default(10_000) }),
};

/** A fault in a request of the control API. */
export type FaultRequest = z.output<typeof requests.fault>;
/** A message in a request of the control API. */
export type SayRequest = z.output<typeof requests.say>;
