import type { AccountState } from '../../core/models.ts';
import type { AccountRecord, AccountStore } from '../../core/ports/account-store.ts';
import type { PrismaClient } from './generated/client.ts';
import { storableOrNull } from './storable.ts';
import { withStorage } from './storage-errors.ts';

/** WhatsApp accounts in PostgreSQL. */
export class PrismaAccountStore implements AccountStore {
  readonly #prisma: PrismaClient;

  constructor(prisma: PrismaClient) {
    this.#prisma = prisma;
  }

  async load(accountId: string): Promise<AccountRecord> {
    const row = await withStorage('reading a WhatsApp account', () =>
      this.#prisma.account.findUnique({ where: { id: accountId } }),
    );
    if (!row) return { state: 'starting', generation: 1 };
    return {
      state: row.state as AccountState,
      generation: row.authGeneration,
      ...(row.reason !== null && { reason: row.reason }),
      ...(row.phone !== null && { phone: row.phone }),
      ...(row.lid !== null && { lid: row.lid }),
      ...(row.pushName !== null && { pushName: row.pushName }),
    };
  }

  async save(accountId: string, record: Omit<AccountRecord, 'generation'>): Promise<void> {
    const data = {
      state: record.state,
      reason: storableOrNull(record.reason),
      phone: storableOrNull(record.phone),
      lid: storableOrNull(record.lid),
      pushName: storableOrNull(record.pushName),
    };
    await withStorage('storing a WhatsApp account', () =>
      this.#prisma.account.upsert({
        where: { id: accountId },
        create: { id: accountId, ...data },
        update: data,
      }),
    );
  }

  async nextGeneration(accountId: string): Promise<number> {
    const row = await withStorage('putting the keys of a WhatsApp account aside', () =>
      this.#prisma.account.upsert({
        where: { id: accountId },
        create: { id: accountId, authGeneration: 2 },
        update: { authGeneration: { increment: 1 } },
      }),
    );
    return row.authGeneration;
  }
}
