// Only for the bench, loaded into a node before its program (`node --import`): the journal is kept in memory, so that a
// message costs what it would without durability. There is no setting for this.
import type { JournalEntry } from '../../router/src/core/ports/inbox.ts';
import { PostgresJournal } from '../../router/src/infra/db/stores/postgres-journal.ts';
import { PostgresKeyStore } from '../../router/src/infra/db/stores/postgres-key-store.ts';

const entries = new Map<string, JournalEntry>();
const { commit } = PostgresKeyStore.prototype;

PostgresKeyStore.prototype.commit = async function (scope, change) {
  await commit.call(this, scope, { ...change, journal: [] });
  for (const entry of change.journal) entries.set(`${scope.accountId} ${entry.ciphertextHash}`, entry);
};
PostgresJournal.prototype.find = async (accountId, hash) => entries.get(`${accountId} ${hash}`);
PostgresJournal.prototype.pending = async () => [];
PostgresJournal.prototype.forget = async (accountId, hashes) => {
  for (const hash of hashes) entries.delete(`${accountId} ${hash}`);
};
