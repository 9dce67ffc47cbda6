import { jidDecode, type LIDMapping, type SignalRepositoryWithLIDStore } from '@whiskeysockets/baileys';
import type { SignalSteps } from './signal-steps.ts';

type MappingStore = SignalRepositoryWithLIDStore['lidMapping'];
type QueryLids = (phoneJids: string[]) => Promise<LIDMapping[] | undefined>;

/** Numbers without a LID at WhatsApp, cached so that not every message queries WhatsApp. */
export interface NumbersWithoutLid {
  has(phoneJid: string): boolean;
  add(phoneJid: string): void;
}

export interface LidMappingsOptions {
  /** Baileys' store; it does not query WhatsApp. */
  stored: MappingStore;
  steps: SignalSteps;
  /** Stores that a number and a LID are one person; called in a step. */
  learn(pair: LIDMapping): Promise<void>;
  queryWhatsApp: QueryLids | undefined;
  withoutLid: NumbersWithoutLid;
}

/**
 * The pairs of number and LID that are one person, for Baileys outside of Signal steps. Each call that learns pairs is
 * a separate step; WhatsApp is queried for unknown numbers outside of steps.
 */
export class LidMappings {
  readonly #options: LidMappingsOptions;

  constructor(options: LidMappingsOptions) {
    this.#options = options;
  }

  async storeLIDPNMappings(pairs: LIDMapping[]): Promise<void> {
    const { steps, learn } = this.#options;
    if (pairs.length === 0) return;
    await steps.step(async () => {
      for (const pair of pairs) await learn(pair);
    });
  }

  async getLIDForPN(phoneJid: string): Promise<string | null> {
    return (await this.getLIDsForPNs([phoneJid]))?.[0]?.lid ?? null;
  }

  async getLIDsForPNs(phoneJids: string[]): Promise<LIDMapping[] | null> {
    const { stored } = this.#options;
    const known = (await stored.getLIDsForPNs(phoneJids)) ?? [];
    const unknown = phoneJids.filter((jid) => !known.some((mapping) => mapping.pn === jid));
    const learned = await this.#queryFor(unknown);
    const found = learned ? ((await stored.getLIDsForPNs(unknown)) ?? []) : [];
    const all = [...known, ...found];
    return all.length > 0 ? all : null;
  }

  getPNForLID(lid: string): Promise<string | null> {
    return this.#options.stored.getPNForLID(lid);
  }

  getPNsForLIDs(lids: string[]): Promise<LIDMapping[] | null> {
    return this.#options.stored.getPNsForLIDs(lids);
  }

  close(): void {
    this.#options.stored.close();
  }

  /** @returns whether anything was learned */
  async #queryFor(phoneJids: readonly string[]): Promise<boolean> {
    const { queryWhatsApp, withoutLid } = this.#options;
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
    await this.storeLIDPNMappings(found);
    return found.length > 0;
  }
}
