import { deliverReplies } from '../core/delivery/deliver-reply.ts';
import { refuseUnknownNumber, type SendMessageInput, sendMessage } from '../core/delivery/send-message.ts';
import type { QueuedReply } from '../core/turns/turn.ts';
import { PostgresOutbox } from '../infra/db/stores/postgres-outbox.ts';
import type { ClusterParts } from './cluster.ts';
import type { DatabaseParts } from './database.ts';
import type { TurnParts } from './turns.ts';

export interface DeliveryParts {
  /** Starts the delivery of stored replies. */
  deliver(replies: readonly QueuedReply[]): void;
  /** Stores a message to a chat, and starts its delivery. */
  sendMessage(input: SendMessageInput): ReturnType<typeof sendMessage>;
  /** As core's function of this name. */
  refuseUnknownNumber(message: Parameters<typeof refuseUnknownNumber>[1]): Promise<void>;
  /** The bytes of the file of a message sent; undefined: they are not stored. */
  sentFile(messageId: string): Promise<Uint8Array | undefined>;
}

/** What is sent without a turn: by programs, tasks and admins. */
export function createDelivery({
  postgres,
  accounts,
  registry,
  bus,
  mintId,
}: DatabaseParts & ClusterParts & TurnParts): DeliveryParts {
  const outbox = new PostgresOutbox(postgres);
  const deliver: DeliveryParts['deliver'] = (replies) => deliverReplies({ accounts: registry, bus }, replies);
  return {
    deliver,
    sendMessage: (input) => sendMessage({ outbox, mintId, deliver: (reply) => deliver([reply]) }, input),
    refuseUnknownNumber: (message) => refuseUnknownNumber({ outbox, accounts }, message),
    sentFile: async (messageId) => (await outbox.fileOf(messageId))?.bytes,
  };
}
