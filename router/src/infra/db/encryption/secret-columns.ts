import { StorageDamagedError } from '../stores/storage-errors.ts';
import { bytesPrefix, type SecretCipher, textPrefix } from './secret-cipher.ts';

/** A column whose values are encrypted. */
export interface SecretColumn {
  table: string;
  column: string;
  /** The value as text, for SQL. */
  text: string;
  /** A stored text as the column's type, for SQL. */
  typed: (text: string) => string;
  /** Columns that the context is made of. */
  identity: readonly string[];
  /**
   * The context of a value (secret-cipher.ts): only what never changes, the columns of the primary key, or only the name. Values
   * of earlier versions were encrypted with it.
   */
  context: string | ((row: Readonly<Record<string, string>>) => string);
  /** How texts of this column begin that a key encrypted. */
  prefixOf: (keyId: string) => string;
  reseal: (cipher: SecretCipher, stored: string, context: string) => string;
}

type Named = Pick<SecretColumn, 'table' | 'column' | 'context'> & Partial<SecretColumn>;

/** A column of texts, or of JSON with a text. */
export function secretText(column: Named): SecretColumn {
  return {
    text: column.column,
    typed: (text) => text,
    identity: [],
    prefixOf: textPrefix,
    reseal: (cipher, stored, context) => cipher.sealText(cipher.openText(stored, context), context),
    ...column,
  };
}

/** A column of bytes, which travel as hexadecimal digits. */
function secretBytes(column: Named): SecretColumn {
  return {
    text: `encode(${column.column}, 'hex')`,
    typed: (text) => `decode(${text}, 'hex')`,
    identity: [],
    prefixOf: (keyId) => bytesPrefix(keyId).toString('hex'),
    reseal: (cipher, stored, context) => {
      const plaintext = cipher.openBytes(Buffer.from(stored, 'hex'), context);
      return Buffer.from(cipher.sealBytes(plaintext, context)).toString('hex');
    },
    ...column,
  };
}

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

/** `account.proxy`: the URL of a proxy, with user name and password. */
export function accountProxyContext(accountId: string): string {
  return JSON.stringify(['account', accountId, 'proxy']);
}

/** `route.config`: settings of an agent, with its headers and keys. */
export const ROUTE_CONFIG_CONTEXT = 'route.config';

/** The columns of the tables of accounts, keys, messages and routes. */
export const coreSecrets: readonly SecretColumn[] = [
  secretText({
    table: 'account',
    column: 'proxy',
    identity: ['id'],
    context: ({ id = '' }) => accountProxyContext(id),
  }),
  secretText({
    table: 'auth_key',
    column: 'value',
    identity: ['account_id', 'generation', 'category', 'key_id'],
    context: (row) =>
      authKeyContext(row.account_id ?? '', Number(row.generation), row.category ?? '', row.key_id ?? ''),
  }),
  secretText({
    table: 'route',
    column: 'config',
    text: `coalesce(config ->> 'encrypted', config::text)`,
    typed: (text) => `jsonb_build_object('encrypted', ${text})`,
    context: ROUTE_CONFIG_CONTEXT,
  }),
  secretText({ table: 'message', column: 'media_ref', context: MEDIA_REF_CONTEXT }),
  secretBytes({ table: 'message', column: 'secret', context: MESSAGE_SECRET_CONTEXT }),
  secretBytes({
    table: 'journal',
    column: 'plaintext',
    identity: ['account_id', 'ciphertext_hash'],
    context: (row) => journalContext(row.account_id ?? '', row.ciphertext_hash ?? ''),
  }),
  secretBytes({ table: 'outbox_file', column: 'content', context: FILE_CONTENT_CONTEXT }),
];

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
