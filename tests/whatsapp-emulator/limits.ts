import { randomInt } from 'node:crypto';
import type { BinaryNode } from '@whiskeysockets/baileys';
import type { Directory } from './directory.ts';
import type { Faults } from './faults.ts';
import { isGroupJid, node, SERVER, seconds, userJid } from './nodes.ts';

/** A message to a number without an account locks the account for so long. */
const LOCK_MS = 6 * 86_400_000;

/** What WhatsApp says about the lock of messages to new contacts. */
export function reachOutLockOf({ reachOutLock }: Faults): object {
  if (!reachOutLock || reachOutLock.endsAtMs <= Date.now()) return { is_active: false };
  return {
    is_active: true,
    time_enforcement_ends: seconds(reachOutLock.endsAtMs),
    enforcement_type: reachOutLock.type,
  };
}

/** What WhatsApp says about the number of new chats. */
export function newChatsOf({ newChats }: Faults): object {
  if (!newChats) return { total_quota: -1, capping_status: 'NONE' };
  const { used, quota, endsAtMs } = newChats;
  return {
    total_quota: quota,
    used_quota: used,
    cycle_end_timestamp: seconds(endsAtMs),
    capping_status: used >= quota ? 'CAPPED' : 'NONE',
  };
}

/** The notification that tells a client of a changed lock or number of chats. */
export function limitNotification(about: 'lock' | 'new chats', faults: Faults): BinaryNode {
  const [operation, data] =
    about === 'lock'
      ? [
          'NotificationUserReachoutTimelockUpdate',
          { xwa2_notify_account_reachout_timelock: reachOutLockOf(faults) },
        ]
      : [
          'MessageCappingInfoNotification',
          { xwa2_notify_new_chat_messages_capping_info_update: newChatsOf(faults) },
        ];
  const update = node('update', { op_name: operation }, Buffer.from(JSON.stringify({ data })));
  return node(
    'notification',
    { id: `${randomInt(1e9)}`, from: SERVER, type: 'mex', t: seconds(Date.now()) },
    [update],
  );
}

/** The first messages of an account to people, which WhatsApp counts, refuses, and punishes when nobody has the number. */
export class NewContacts {
  readonly #writers = new Set<string>();
  readonly #begun = new Set<string>();

  /** A person wrote: messages to them are never refused. */
  wrote(person: string): void {
    this.#writers.add(person);
  }

  /**
   * Judges a message of a client.
   * @returns `refused` 463; `locked`: as a punishment, the account is locked now, and the message is lost
   */
  judge(to: string, faults: Faults, directory: Directory): 'accepted' | 'refused' | 'locked' {
    if (isGroupJid(to)) return 'accepted';
    const actor = directory.actor(to);
    if (!actor) {
      faults.reachOutLock = { endsAtMs: Date.now() + LOCK_MS, type: 'RESTRICT_ALL_COMPANIONS' };
      return 'locked';
    }
    const { pn } = actor;
    if (this.#writers.has(pn) || directory.phone(pn)) return 'accepted';
    if (faults.refusedContacts.has(userJid(pn).split('@')[0] ?? '')) return 'refused';
    if ((faults.reachOutLock?.endsAtMs ?? 0) > Date.now()) return 'refused';
    const { newChats } = faults;
    if (!newChats || this.#begun.has(pn)) return 'accepted';
    if (newChats.used >= newChats.quota && newChats.endsAtMs > Date.now()) return 'refused';
    newChats.used += 1;
    this.#begun.add(pn);
    return 'accepted';
  }
}
