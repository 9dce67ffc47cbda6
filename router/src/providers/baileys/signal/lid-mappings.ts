import { jidDecode, type LIDMapping, type SignalRepositoryWithLIDStore } from '@whiskeysockets/baileys';
import type { SignalSteps } from './signal-steps.ts';

type MappingStore = SignalRepositoryWithLIDStore['lidMapping'];

/** Numbers without a LID at WhatsApp, cached so that not every message queries WhatsApp. */
export interface NumbersWithoutLid {
  has(phoneJid: string): boolean;
  add(phoneJid: string): void;
}

export interface LidMappingsOptions {
  steps: SignalSteps;
  /** Stores that a number and a LID are one person; called in a step. */
  learn(pair: LIDMapping): Promise<unknown>;
  queryWhatsApp: ((phoneJids: string[]) => Promise<LIDMapping[] | undefined>) | undefined;
  withoutLid: NumbersWithoutLid;
}

/**
 * The pairs of number and LID that are one person, for Baileys outside of Signal steps. Each call that learns pairs is
 * a separate step; WhatsApp is queried for unknown numbers outside of steps.
 * @param stored Baileys' store, which does not query WhatsApp; it has the methods that only read
 */
export function lidMappingsOver(stored: MappingStore, options: LidMappingsOptions): MappingStore {
  const { steps, learn, queryWhatsApp, withoutLid } = options;

  const storeLIDPNMappings = async (pairs: LIDMapping[]): Promise<void> => {
    if (pairs.length === 0) return;
    await steps.step(async () => {
      for (const pair of pairs) await learn(pair);
    });
  };

  /** @returns whether anything was learned */
  const queryFor = async (phoneJids: readonly string[]): Promise<boolean> => {
    const users = new Set(phoneJids.map((jid) => jidDecode(jid)?.user).filter((user) => user !== undefined));
    const jids = [...users].map((user) => `${user}@s.whatsapp.net`).filter((jid) => !withoutLid.has(jid));
    if (!queryWhatsApp || jids.length === 0) return false;
    let found: LIDMapping[];
    try {
      found = (await queryWhatsApp(jids)) ?? [];
    } catch {
      // Baileys would treat the error as a missing session.
      return false;
    }
    const answered = new Set(found.map((mapping) => jidDecode(mapping.pn)?.user));
    for (const jid of jids) if (!answered.has(jidDecode(jid)?.user)) withoutLid.add(jid);
    await storeLIDPNMappings(found);
    return found.length > 0;
  };

  const getLIDsForPNs = async (phoneJids: string[]): Promise<LIDMapping[] | null> => {
    const known = (await stored.getLIDsForPNs(phoneJids)) ?? [];
    const unknown = phoneJids.filter((jid) => !known.some((mapping) => mapping.pn === jid));
    const found = (await queryFor(unknown)) ? ((await stored.getLIDsForPNs(unknown)) ?? []) : [];
    const all = [...known, ...found];
    return all.length > 0 ? all : null;
  };

  const getLIDForPN = async (phoneJid: string) => (await getLIDsForPNs([phoneJid]))?.[0]?.lid ?? null;

  return Object.assign(Object.create(stored), { storeLIDPNMappings, getLIDsForPNs, getLIDForPN });
}
