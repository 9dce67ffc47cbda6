import { StorageDamagedError } from '../stores/storage-errors.ts';
import type { SecretCipher } from './secret-cipher.ts';
import { ROUTE_CONFIG_CONTEXT } from './secret-columns.ts';

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
