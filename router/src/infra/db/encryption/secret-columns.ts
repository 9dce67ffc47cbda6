import { StorageDamagedError } from '../stores/storage-errors.ts';
import type { SecretCipher } from './secret-cipher.ts';

/**
 * The columns whose values are encrypted, and the context of each value (secret-cipher.ts). A context contains only what
 * never changes: the columns of the primary key, or only the name.
 */

/** `auth_key.value`: WhatsApp credentials and Signal keys. */
export function authKeyContext(
  accountId: string,
  generation: number,
  category: string,
  keyId: string,
): string {
  return JSON.stringify(['auth_key', accountId, generation, category, keyId]);
}

/** `journal.plaintext`: decrypted stanzas, with the keys of their files. */
export function journalContext(accountId: string, ciphertextHash: string): string {
  return JSON.stringify(['journal', accountId, ciphertextHash]);
}

/** `message.media_ref`: how a person's file is loaded, with its key. */
export const MEDIA_REF_CONTEXT = 'message.media_ref';

/** `message.secret`: with which people encrypt edits of the message. */
export const MESSAGE_SECRET_CONTEXT = 'message.secret';

/** `outbox_file.content`: the uploaded form of a reply's file, with its key. */
export const FILE_CONTENT_CONTEXT = 'outbox_file.content';

/** `served_task_hook.secret`: token and credentials of the receiver. */
export const TASK_HOOK_CONTEXT = 'served_task_hook.secret';

/** `webhook.secret`: key of the signature. */
export const WEBHOOK_SECRET_CONTEXT = 'webhook.secret';

/** `hosted_agent.settings`: settings of an agent that wa2ai runs, with its variables. */
export const HOSTED_AGENT_CONTEXT = 'hosted_agent.settings';

/** `face_setting.settings` of the key that signs push notifications. */
export const PUSH_KEY_CONTEXT = 'face_setting.a2a-push-key';

/** `face_setting.settings`, at `chain.rpcUrl`: it may contain a key of the RPC server. */
export const RPC_URL_CONTEXT = 'face_setting.npc-rpc-url';

/** `account.proxy`: the URL of a proxy, with user name and password. */
export function accountProxyContext(accountId: string): string {
  return JSON.stringify(['account', accountId, 'proxy']);
}

/** `route.config`: settings of an agent, with its headers and keys. */
export const ROUTE_CONFIG_CONTEXT = 'route.config';

/** Encrypts the key that signs push notifications. */
export function pushKeyCipher(secrets: Pick<SecretCipher, 'sealText' | 'openText'>) {
  return {
    seal: (plaintext: string) => secrets.sealText(plaintext, PUSH_KEY_CONTEXT),
    open: (stored: string) => secrets.openText(stored, PUSH_KEY_CONTEXT),
  };
}

/**
 * A route's config as it is stored, both as JSON: encrypted as a whole, since which settings are secret depends on the
 * agent kind. As it is when the cipher has no key.
 */
export function sealConfig(secrets: SecretCipher, config: string): string {
  const sealed = secrets.sealText(config, ROUTE_CONFIG_CONTEXT);
  return sealed === config ? config : JSON.stringify({ encrypted: sealed });
}

/**
 * The config behind a stored value; a value that is not encrypted as it is. Throws as SecretCipher.openText does, and
 * StorageDamagedError for text that is not JSON.
 */
export function openConfig(secrets: SecretCipher, stored: unknown): unknown {
  if (typeof stored !== 'object' || stored === null || !('encrypted' in stored)) return stored;
  if (typeof stored.encrypted !== 'string') return stored;
  const text = secrets.openText(stored.encrypted, ROUTE_CONFIG_CONTEXT);
  try {
    return JSON.parse(text);
  } catch {
    // Without its cause, which quotes the config.
    throw new StorageDamagedError('The encrypted config of a route is not JSON.');
  }
}
