import { randomBytes } from 'node:crypto';
import {
  type BinaryNode,
  encodeSyncdPatch,
  type LTHashState,
  newLTHashState,
  proto,
  type WAPatchCreate,
} from '@whiskeysockets/baileys';
import { children, node } from './nodes.ts';

type Collection = WAPatchCreate['type'];

/** What a phone tells its linked devices about its chats, encrypted with a key that only they get: the server has the patches. */
export class AppState {
  readonly #keyId = randomBytes(6);
  readonly #keyData = { keyData: randomBytes(32), timestamp: Date.now() };
  readonly #collections = new Map<Collection, { state: LTHashState; patches: Uint8Array[] }>();

  /** The message with the key, for a linked device. */
  keyShare(): proto.IMessage {
    const key = { keyId: { keyId: this.#keyId }, keyData: this.#keyData };
    const type = proto.Message.ProtocolMessage.Type.APP_STATE_SYNC_KEY_SHARE;
    return { protocolMessage: { type, appStateSyncKeyShare: { keys: [key] } } };
  }

  /** Locks a chat on the phone, or unlocks it. @returns the collection that changed */
  async lock(chat: string, isLocked: boolean): Promise<Collection> {
    const collection: Collection = 'regular_low';
    const known = this.#collections.get(collection) ?? { state: newLTHashState(), patches: [] };
    const { patch, state } = await encodeSyncdPatch(
      {
        type: collection,
        index: ['lock', chat],
        syncAction: { lockChatAction: { locked: isLocked }, timestamp: Date.now() },
        apiVersion: 7,
        operation: proto.SyncdMutation.SyncdOperation.SET,
      },
      this.#keyId.toString('base64'),
      known.state,
      async () => proto.Message.AppStateSyncKeyData.create(this.#keyData),
    );
    const versioned = { ...patch, version: { version: state.version } };
    const patches = [...known.patches, proto.SyncdPatch.encode(versioned).finish()];
    this.#collections.set(collection, { state, patches });
    return collection;
  }

  /** The node of a collection with what a device does not have; `asked` has the device's version. */
  answer(asked: BinaryNode): BinaryNode {
    const { name = '' } = asked.attrs;
    const known = this.#collections.get(name as Collection);
    const version = Number(asked.attrs.version ?? 0);
    const own = children(asked).some(({ tag }) => tag === 'patch');
    if (!known || own) {
      return node('collection', { name, version: `${version + (own ? 1 : 0)}`, type: 'result' });
    }
    const patches = known.patches.slice(version).map((bytes) => node('patch', {}, bytes));
    const attrs = { name, version: `${version}`, type: 'result', has_more_patches: 'false' };
    return node('collection', attrs, patches.length > 0 ? [node('patches', {}, patches)] : undefined);
  }
}
