import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The URL of the superuser of an embedded database, for tests that make databases and roles.
 * @param serviceUrl that of the service
 */
export async function superuserUrl(dataDir: string, serviceUrl: string): Promise<string> {
  const url = new URL(serviceUrl);
  url.username = 'wa2ai';
  url.password = (await readFile(join(dataDir, 'postgres/password'), 'utf8')).trim();
  return url.href;
}
