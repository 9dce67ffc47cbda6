import type { Socket } from 'node:net';
import type { GroupCommit } from '../signal/group-commit.ts';

/**
 * Delays each write to a socket until everything that was appended before it is durable: receipts, acks, retry requests
 * and replies. So no code path can acknowledge or send what is not stored. When the commit fails, or the account must
 * not be used any more, the socket is destroyed and no delayed write is sent. Workaround: refs/baileys-workarounds.md.
 * @param socket the one of the WebSocket's `upgrade` event; its `write` and `end` are replaced
 * @param mayUse called for each write, immediately before it
 */
export function gateWrites(socket: Socket, commits: GroupCommit, mayUse: () => boolean): void {
  const delayed: Array<{ unit: number; write: () => unknown }> = [];
  const release = () => {
    while (!socket.destroyed && delayed[0] && delayed[0].unit <= commits.durable) {
      if (mayUse()) delayed.shift()?.write();
      else socket.destroy();
    }
  };
  const gated = <A extends unknown[], R>(write: (...args: A) => R, whenDelayed: R) => {
    return (...args: A): R => {
      if (!mayUse()) socket.destroy();
      if (socket.destroyed) return write.apply(socket, args);
      if (delayed.length === 0 && commits.durable >= commits.appended) return write.apply(socket, args);
      delayed.push({ unit: commits.appended, write: () => write.apply(socket, args) });
      return whenDelayed;
    };
  };
  const { write, end } = socket;
  socket.write = gated(write as (...args: unknown[]) => boolean, true) as typeof socket.write;
  socket.end = gated(end as (...args: unknown[]) => Socket, socket) as typeof socket.end;
  const stop = commits.listen({ durable: release, failed: () => socket.destroy() });
  socket.once('close', () => {
    stop();
    // Their callbacks report that the socket is closed.
    for (const { write } of delayed.splice(0)) write();
  });
}
