import { z } from 'zod';
import type { AccountStatus } from '../ports/chat-provider.ts';

const pairBy = z.union([
  z.object({ method: z.literal('qr') }),
  z.object({ method: z.literal('code'), phone: z.string() }),
]);
const status = z.custom<AccountStatus>(
  (value) => typeof value === 'object' && value !== null && 'accountId' in value && 'state' in value,
);
const accountId = z.string();

/**
 * What nodes tell each other. Every note may be lost; whoever relies on one also looks by itself now and then.
 * `look`: accounts or nodes changed · `replies`: rows for the account's owner are in the outbox · `loop`: run this turn
 * loop · `wake`: a message came for a chat whose loop may run at one of the others · `who`: a node that just came asks for statuses · `command` and `answer`: an admin's wish for an account that
 * another node holds.
 */
const note = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('look') }),
  z.object({ kind: z.literal('replies'), accountId }),
  z.object({ kind: z.literal('typing'), accountId, to: z.string(), isTyping: z.boolean() }),
  z.object({ kind: z.literal('wake'), chatId: z.string() }),
  z.object({ kind: z.literal('loop'), node: z.string(), chatId: z.string(), epoch: z.number() }),
  z.object({ kind: z.literal('status'), status }),
  z.object({ kind: z.literal('who') }),
  z.object({
    kind: z.literal('command'),
    id: z.string(),
    accountId,
    action: z.enum(['pair', 'logout', 'restart']),
    by: pairBy.optional(),
  }),
  z.object({
    kind: z.literal('answer'),
    id: z.string(),
    status: status.optional(),
    error: z.object({ code: z.string(), isLater: z.boolean(), message: z.string() }).optional(),
  }),
]);

export type NodeMessage = z.infer<typeof note>;

/** How one node reaches the others. */
export interface NodeBus {
  /** Tells all other nodes; returns at once, and nobody may hear it. */
  publish(note: NodeMessage): void;
}

const envelope = z.object({ from: z.string(), note });

/** A note on its way, and back. Pure. @returns undefined for an own note and for one of another version of wa2ai */
export function nodeMessageFrom(
  message: unknown,
  ownNodeId: string,
): { from: string; note: NodeMessage } | undefined {
  const parsed = envelope.safeParse(message);
  return parsed.success && parsed.data.from !== ownNodeId ? parsed.data : undefined;
}
