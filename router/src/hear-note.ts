import type { AccountOwner } from './core/account-owner.ts';
import type { AccountRegistry } from './core/account-registry.ts';
import type { ClusterAccounts } from './core/cluster-accounts.ts';
import type { ReplyDelivery } from './core/deliver-reply.ts';
import type { NodeNote } from './core/node-notes.ts';
import type { TurnEngine } from './infra/queue/turn-engine.ts';

export interface NoteHearingDeps {
  nodeId: string;
  owner: Pick<AccountOwner, 'nudge'>;
  registry: AccountRegistry;
  deliveries: ReadonlyMap<string, ReplyDelivery>;
  engine: Pick<TurnEngine, 'wakeLoop' | 'startLoopHere'>;
  accounts: Pick<ClusterAccounts, 'take'>;
}

/** Does what a note of another node asks for; `from` is that node's name. Returns at once. */
export function hearNote(deps: NoteHearingDeps, note: NodeNote, from: string): void {
  const { nodeId, owner, registry, deliveries, engine, accounts } = deps;
  switch (note.kind) {
    case 'look':
      owner.nudge();
      break;
    case 'replies':
      deliveries.get(note.accountId)?.look();
      break;
    case 'typing':
      void registry.provider(note.accountId)?.setTyping(note.to, note.isTyping);
      break;
    case 'wake':
      engine.wakeLoop(note.chatId);
      break;
    case 'loop':
      if (note.node === nodeId) engine.startLoopHere(note);
      break;
    default:
      accounts.take(note, from);
  }
}
