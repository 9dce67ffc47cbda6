import type { AccountRegistry } from '../core/cluster/account-registry.ts';
import type { ClusterAccounts } from '../core/cluster/cluster-view.ts';
import type { LeaseManager } from '../core/cluster/lease-manager.ts';
import type { NodeMessage } from '../core/cluster/node-messages.ts';
import type { ReplyDelivery } from '../core/delivery/deliver-reply.ts';
import type { TurnEngine } from '../infra/engine/turn-engine.ts';

export interface NodeMessageDeps {
  nodeId: string;
  owner: Pick<LeaseManager, 'nudge'>;
  registry: AccountRegistry;
  deliveries: ReadonlyMap<string, ReplyDelivery>;
  engine: Pick<TurnEngine, 'wakeLoop' | 'startLoopHere'>;
  accounts: Pick<ClusterAccounts, 'take'>;
}

/** Does what a note of another node asks for; `from` is that node's name. Returns at once. */
export function handleNodeMessage(deps: NodeMessageDeps, note: NodeMessage, from: string): void {
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
