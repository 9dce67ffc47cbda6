import { jidDecode, type LIDMapping, type SignalRepositoryWithLIDStore } from '@whiskeysockets/baileys';
import type { SignalSteps } from './signal-steps.ts';

type MappingStore = SignalRepositoryWithLIDStore['lidMapping'];
type AskForLids = (phoneJids: string[]) => Promise<LIDMapping[] | undefined>;

/** Numbers that WhatsApp has no LID for, so that it is not asked again for each message. */
export interface NumbersWithoutLid {
  has(phoneJid: string): boolean;
  add(phoneJid: string): void;
}

export interface LidMappingsOptions {
  /** Baileys' store, which asks nobody. */
  stored: MappingStore;
  steps: SignalSteps;
  /** Stores that a number and a LID are one person; inside a step. */
  learn(pair: LIDMapping): Promise<void>;
  ask: AskForLids | undefined;
  withoutLid: NumbersWithoutLid;
}

/**
 * Which number and LID are one person, as Baileys uses it outside Signal steps: each new pair is stored in a separate step, and
 * WhatsApp is asked for unknown numbers outside of one.
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
    const learned = await this.#askFor(unknown);
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
  async #askFor(phoneJids: readonly string[]): Promise<boolean> {
    const { ask, withoutLid } = this.#options;
    const users = new Set(phoneJids.map((jid) => jidDecode(jid)?.user).filter((user) => user !== undefined));
    const jids = [...users].map((user) => `${user}@s.whatsapp.net`).filter((jid) => !withoutLid.has(jid));
    if (!ask || jids.length === 0) return false;
    let found: LIDMapping[];
    try {
      found = (await ask(jids)) ?? [];
    } catch {
      // Baileys would take the failed question for a missing session.
      return false;
    }
    const answered = new Set(found.map((mapping) => jidDecode(mapping.pn)?.user));
    for (const jid of jids) if (!answered.has(jidDecode(jid)?.user)) withoutLid.add(jid);
    await this.storeLIDPNMappings(found);
    return found.length > 0;
  }
}
