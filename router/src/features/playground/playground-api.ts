import { createHash } from 'node:crypto';
import { z } from 'zod';
import { groupJid } from '../../core/chat-id.ts';
import { detectMediaType } from '../../core/delivery/agent-file.ts';
import type { MediaKind } from '../../core/models.ts';
import { PHRASES, saidBy, say } from '../../core/phrases.ts';
import { inventedGroupId, inventedPhone, PLAYGROUND } from '../../core/playground/playground-account.ts';
import type { InventedPerson, PlaygroundChat, PlaygroundFile } from '../../core/ports/playground.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import {
  changedResponse,
  dataResponse,
  isRowId,
  listResponse,
  phoneField,
  rowIdField,
  shown,
  timeView,
  wholeNumberQuery,
} from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { HttpProblem, mistakeAt, problemSchema } from '../../infra/operations/problem.ts';
import { fileResponse } from '../../infra/operations/response.ts';
import type { Writing } from '../../providers/playground/playground-provider.ts';

/** A file of 10 MB in base64, and the other fields. */
const MAX_BODY_BYTES = 14 * 1024 * 1024;
const MAX_PEOPLE = 20;
const MAX_WAIT_MS = 25_000;
const PAGE = 200;

const nameField = z
  .string()
  .max(100)
  .refine((name) => name.trim() !== '', PHRASES['field.not-blank']);

const personField = z.strictObject({
  name: nameField,
  phone: phoneField.optional().describe('Default: an invented number, which begins with 9991.'),
});

const newChatBody = z
  .strictObject({
    kind: z.enum(['person', 'group']),
    name: nameField.describe('Of the person or the group.'),
    phone: phoneField.optional().describe('Of a person. Default: an invented number.'),
    people: z
      .array(personField)
      .min(1)
      .max(MAX_PEOPLE)
      .refine(
        (people) => new Set(people.map(({ name }) => name)).size === people.length,
        PHRASES['field.different-names'],
      )
      .optional()
      .describe('The members of a group.'),
    routeId: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe(
        'The route that answers every message of the chat, of any account, also a disabled one. Default: the routes of the account `playground` decide.',
      ),
  })
  .superRefine(({ kind, phone, people }, context) => {
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (kind === 'person' && people) refuse('people', PHRASES['field.of-group']);
    if (kind === 'group' && phone !== undefined) refuse('phone', PHRASES['field.of-person']);
    if (kind === 'group' && !people) refuse('people', PHRASES['field.missing-of-group']);
  })
  .meta({
    id: 'NewPlaygroundChat',
    examples: [
      { kind: 'person', name: 'Ana' },
      { kind: 'group', name: 'Family', people: [{ name: 'Ana' }, { name: 'Luis' }] },
    ],
  });

const MEDIA_KINDS = [
  'image',
  'video',
  'audio',
  'voice',
  'document',
  'sticker',
] as const satisfies MediaKind[];

const fileField = z.strictObject({
  data: z.base64(PHRASES['field.base64']).min(1).describe('The bytes in base64, at most 10 MB.'),
  kind: z.enum(MEDIA_KINDS).optional().describe('Default: what the first bytes say, else `document`.'),
  mimeType: z.string().max(100).optional(),
  fileName: z.string().max(200).optional().describe('Of a document.'),
});

const writingBody = z
  .strictObject({
    as: z.string().max(100).optional().describe('Name or number of the writer. Default: the first person.'),
    text: z.string().min(1).max(65_536).optional().describe('With a file, its caption.'),
    file: fileField.optional(),
    reaction: z
      .strictObject({
        to: rowIdField.describe('Id of a message of the chat, received or sent.'),
        emoji: z.string().max(20).describe('Empty: takes the reaction back.'),
      })
      .optional(),
    quote: rowIdField.optional().describe('Id of a message of the chat that the text or file quotes.'),
    edit: rowIdField
      .optional()
      .describe('Id of a message of the same person. `text` is its new text; it is answered again.'),
    delete: rowIdField
      .optional()
      .describe('Id of a message of the same person, which deletes it for everybody.'),
    mention: z
      .boolean()
      .optional()
      .describe('The text begins with a mention of the account. Default: false.'),
  })
  .superRefine(({ text, file, reaction, edit, delete: deletion, quote, mention }, context) => {
    const isWritten = text !== undefined || file !== undefined;
    const kinds = [isWritten, reaction !== undefined, deletion !== undefined];
    if (kinds.filter(Boolean).length !== 1) {
      context.addIssue(PHRASES['field.some-content']);
    }
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (reaction && (quote !== undefined || mention)) refuse('reaction', PHRASES['field.quote-or-mention']);
    if (deletion !== undefined && (quote !== undefined || mention)) {
      refuse('delete', PHRASES['field.quote-or-mention']);
    }
    if (edit !== undefined && (text === undefined || file)) refuse('edit', PHRASES['field.needs-text']);
  })
  .meta({ id: 'PlaygroundWriting', examples: [{ text: 'hola' }, { as: 'Luis', text: 'hi', mention: true }] });

const chatView = z
  .object({
    id: z.string().describe('Id of the chat, also for the calls of chats and messages.'),
    accountId: z.literal(PLAYGROUND),
    kind: z.enum(['person', 'group']),
    name: z.string(),
    channelId: z.string(),
    people: z.array(z.object({ name: z.string(), phone: z.string() })),
    routeId: z.string().optional(),
    createdAt: timeView,
  })
  .meta({ id: 'PlaygroundChat' });

const eventView = z
  .object({
    id: z.string(),
    at: timeView,
    kind: z.enum(['message', 'typing', 'read', 'reaction']),
    waMessageId: z.string().optional().describe('Of a message that arrived.'),
    text: z.string().optional(),
    file: z
      .object({
        id: z.string(),
        kind: z.string(),
        mimeType: z.string(),
        fileName: z.string().optional(),
      })
      .optional()
      .describe('Load it with `GET /api/playground/files/{id}`.'),
    quotedText: z.string().optional(),
    special: z
      .string()
      .optional()
      .describe('What it is when it is neither text nor file: `poll`, `edit` ...'),
    isTyping: z.boolean().optional(),
    about: z.string().optional().describe('WhatsApp id of the message that was read or reacted to.'),
    emoji: z.string().optional(),
  })
  .meta({ id: 'PlaygroundEvent' });

const eventsQuery = z.strictObject({
  after: rowIdField.optional().describe('Only events after this one.'),
  waitMs: wholeNumberQuery(0, MAX_WAIT_MS)
    .optional()
    .describe('Wait so long for an event when there is none. Default: 0.'),
});

const NO_MESSAGE = PHRASES['field.not-message-of-chat'];
const NOT_OWN = PHRASES['field.not-message-of-person'];
const UNKNOWN = {
  as: PHRASES['field.not-person-of-chat'],
  quote: NO_MESSAGE,
  reaction: NO_MESSAGE,
  edit: NOT_OWN,
  deletion: NOT_OWN,
};

const notFound = { 404: { description: 'No such chat in the playground.', schema: problemSchema } };

/** Numbers in [0, 1) that follow from an id: a call that is repeated invents the same people. */
function randomOf(repeatId: string): () => number {
  let count = 0;
  return () => {
    count += 1;
    return createHash('sha256').update(`${repeatId} ${count}`).digest().readUInt32BE() / 2 ** 32;
  };
}

/** Invented people who write to agents: `/api/playground`. */
export function playgroundApi(app: App): Endpoint[] {
  const { playground, playgroundChanges, addPlayground, writeMessage, prepareFile, routes, random } = app;
  const common = { tag: 'Playground', scopes: ['playground'] as const, honours: [] as const };
  const params = { id: 'Id of the chat.' };

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/playground/chats',
      operationId: 'listPlaygroundChats',
      summary: 'List the chats of the playground, oldest first',
      responses: { 200: { description: 'The chats.', schema: listResponse(chatView) } },
      handle: async () => {
        const data = (await playground.chats()).map(viewOf);
        return { status: 200, json: { success: true, data, count: data.length } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/playground/chats',
      operationId: 'createPlaygroundChat',
      summary: 'Invent a person or a group',
      description:
        'The first one adds the account `playground`. Its messages take the way of every message: policies, routes, agent, outbox, delivery states. They never reach WhatsApp. `GET /api/chats` and `GET /api/messages` with this accountId show them.',
      body: newChatBody,
      creates: {},
      responses: {
        201: { description: 'The chat.', schema: changedResponse(chatView) },
        409: {
          description: 'The playground has a chat with this number, or a WhatsApp account has its id.',
          schema: problemSchema,
        },
      },
      handle: async ({ body, repeatId }) => {
        const { kind, name, routeId } = body;
        const invented = repeatId === undefined ? random : randomOf(repeatId);
        if (routeId !== undefined && !(await routes.get(routeId))) {
          throw invalid('body', [mistakeAt('routeId', say('field.not-route-id'))]);
        }
        if (!(await addPlayground())) {
          throw new HttpProblem(409, 'PLAYGROUND_ID_TAKEN', say('problem.playground-id-taken'));
        }
        const people: InventedPerson[] = (
          kind === 'person' ? [{ name, phone: body.phone }] : (body.people ?? [])
        ).map((person) => ({ name: person.name, phone: person.phone ?? inventedPhone(invented) }));
        const channelId = kind === 'person' ? (people[0]?.phone ?? '') : groupJid(inventedGroupId(invented));
        const chat = await playground.addChat({
          ...{ kind, name, channelId, people },
          ...(routeId !== undefined && { routeId }),
        });
        if (!chat) {
          throw new HttpProblem(409, 'PLAYGROUND_CHAT_EXISTS', say('problem.playground-chat-exists'));
        }
        const message = 'The chat is ready.';
        return { status: 201, object: chat.id, json: { success: true, message, data: viewOf(chat) } };
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/playground/chats/{id}',
      operationId: 'deletePlaygroundChat',
      summary: 'Delete a chat of the playground with its messages, replies and files',
      params,
      responses: { 204: { description: 'Deleted.' }, ...notFound },
      handle: async ({ params: { id = '' } }) => {
        const { id: chatId } = await foundChat(id);
        await playground.deleteChat(chatId);
        return { status: 204 };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/playground/chats/{id}/messages',
      operationId: 'writePlaygroundMessage',
      summary: 'Write as an invented person',
      description:
        'The message is stored when the call responds; the answer comes later. `GET /api/messages/{id}` shows what became of it.',
      params,
      body: writingBody,
      creates: {},
      maxBodyBytes: MAX_BODY_BYTES,
      responses: {
        202: {
          description: 'The message is stored.',
          schema: dataResponse(
            z.object({
              id: z
                .string()
                .optional()
                .describe('Id of the message. Absent while no node runs the playground: it comes later.'),
              waMessageId: z.string(),
            }),
          ),
        },
        ...notFound,
        422: { description: 'WhatsApp has no such file. Nothing was stored.', schema: problemSchema },
      },
      handle: async ({ params: { id = '' }, body, repeatId }) => {
        const chat = await foundChat(id);
        const { as, text, quote, reaction, mention, edit, delete: deletion } = body;
        const written = await writeMessage(chat, {
          ...(repeatId !== undefined && { repeatId }),
          ...(as !== undefined && { as }),
          ...(text !== undefined && { text }),
          ...(quote !== undefined && { quote }),
          ...(reaction && { reaction: { about: reaction.to, emoji: reaction.emoji } }),
          ...(mention && { isMention: true }),
          ...(edit !== undefined && { edit }),
          ...(deletion !== undefined && { deletion }),
          ...(body.file && { file: await fileOf(body.file) }),
        });
        if (written.kind === 'unknown') {
          const field = written.field === 'deletion' ? 'delete' : written.field;
          throw invalid('body', [mistakeAt(field, saidBy(UNKNOWN[written.field]))]);
        }
        const { waMessageId, id: messageId } = written;
        const data = { ...(messageId !== undefined && { id: messageId }), waMessageId };
        return { status: 202, object: messageId ?? chat.id, json: { success: true, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/playground/chats/{id}/events',
      operationId: 'listPlaygroundEvents',
      isPolled: true,
      summary: 'Show what the phones of a chat show, oldest first',
      description:
        'Messages that arrived, typing, read receipts and reactions of the account. With `waitMs` the call responds as soon as there is an event.',
      params,
      query: eventsQuery,
      responses: {
        200: { description: 'At most 200 events.', schema: listResponse(eventView) },
        ...notFound,
      },
      handle: async ({ params: { id = '' }, query: { after = '0', waitMs = 0 }, signal }) => {
        const chat = await foundChat(id);
        const read = async () => {
          const events = await playground.events(chat.id, after, PAGE);
          return events.length > 0 ? events : undefined;
        };
        const events = (await playgroundChanges.until(chat.id, waitMs, read, signal)) ?? [];
        const data = events.map((event) => shown(eventView, event));
        return { status: 200, json: { success: true, data, count: data.length } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/playground/files/{id}',
      operationId: 'getPlaygroundFile',
      summary: 'Load a file of the playground',
      params: { id: 'Id of the file.' },
      responses: {
        200: {
          description: 'The bytes of the file.',
          contentType: 'application/octet-stream',
          schema: z.string().meta({ format: 'binary' }),
        },
        404: { description: 'No such file.', schema: problemSchema },
      },
      handle: async ({ params: { id = '' } }) => {
        return fileResponseOf(isRowId(id) ? await playground.file(id) : undefined);
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/playground/chats/{id}/files/{waMessageId}',
      operationId: 'getPlaygroundFileOfMessage',
      summary: 'Load the file of a message, received or sent',
      params: { ...params, waMessageId: 'WhatsApp id of the message.' },
      responses: {
        200: {
          description: 'The bytes of the file.',
          contentType: 'application/octet-stream',
          schema: z.string().meta({ format: 'binary' }),
        },
        404: { description: 'No such chat, or no such file.', schema: problemSchema },
      },
      handle: async ({ params: { id = '', waMessageId = '' } }) => {
        const chat = await foundChat(id);
        return fileResponseOf(await playground.fileOfMessage(chat.id, waMessageId));
      },
    }),
  ];

  async function foundChat(id: string): Promise<PlaygroundChat> {
    const chat = isRowId(id) ? await playground.chat(id) : undefined;
    if (!chat) throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-playground-chat'));
    return chat;
  }

  /** @throws {HttpProblem} 404 */
  function fileResponseOf(file: PlaygroundFile | undefined) {
    if (!file) throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-playground-file'));
    return fileResponse(file.bytes, file);
  }

  async function fileOf(given: z.output<typeof fileField>): Promise<NonNullable<Writing['file']>> {
    const { data, mimeType, fileName } = given;
    const bytes = new Uint8Array(Buffer.from(data, 'base64'));
    const wanted = {
      bytes,
      ...(mimeType !== undefined && { mimeType }),
      ...(fileName !== undefined && { fileName }),
    };
    return prepareFile(given.kind ?? kindOf(bytes), wanted).load();
  }
}

/** What an app of WhatsApp would send it as. */
function kindOf(bytes: Uint8Array): MediaKind {
  const type = detectMediaType(bytes) ?? '';
  if (/^image\/(?:jpeg|png)$/.test(type)) return 'image';
  if (/^video\/(?:mp4|3gpp)$/.test(type)) return 'video';
  return /^audio\/(?:mpeg|mp4|aac|amr|ogg; codecs=opus)$/.test(type) ? 'audio' : 'document';
}

function viewOf(chat: PlaygroundChat) {
  return shown(chatView, { ...chat, accountId: PLAYGROUND });
}
