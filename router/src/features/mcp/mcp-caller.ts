import type { AuthInfo } from '@modelcontextprotocol/server';
import { type Caller, taskOwnerOf } from '../../core/access/caller.ts';

interface Exchange {
  caller: Caller;
  requestId: string;
  address: string;
  /** Aborts when the client disconnects or the server stops. */
  signal: AbortSignal;
}

/** Who calls, and the request of the call; the SDK carries it to the handlers. */
export class McpCaller {
  readonly caller: Caller;
  readonly requestId: string;
  readonly address: string;
  readonly signal: AbortSignal;

  constructor({ caller, requestId, address, signal }: Exchange) {
    this.caller = caller;
    this.requestId = requestId;
    this.address = address;
    this.signal = signal;
  }

  /** The caller that `authInfo` has carried. */
  static of(authInfo: AuthInfo | undefined): McpCaller {
    const carried = authInfo?.extra?.caller;
    if (!(carried instanceof McpCaller)) throw new TypeError('the call has no caller');
    return carried;
  }

  /** Who owns the tasks that the caller opens. */
  get owner(): string {
    return taskOwnerOf(this.caller);
  }

  /** The form in which the SDK carries it; the key itself is not part of it. */
  authInfo(): AuthInfo {
    return { token: '', clientId: this.owner, scopes: [], extra: { caller: this } };
  }
}
