import type { Socket } from 'node:net';
import type { GroupCommit } from '../signal/group-commit.ts';

/**
 * Delays what is written to a socket until everything appended before it is durable: receipts, acks, retry requests and
 * replies alike, so no code path can acknowledge or send what is not stored. When that can never be, or the account must
 * not be used any more, the socket is destroyed and nothing of it leaves.
 * @param socket of the WebSocket's `upgrade` event; its `write` and `end` are replaced
 * @param mayUse asked for each piece in the step that writes it
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
    // Their callbacks report that the socket is gone.
    for (const { write } of delayed.splice(0)) write();
  });
}
