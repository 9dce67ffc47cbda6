import { readFileSync } from 'node:fs';

/** Variables that name a file with a secret, for secrets that must not be in the environment. */
const KEY_FILE = 'WA2AI_API_KEY_FILE';
const PASSWORD_FILE = 'DATABASE_PASSWORD_FILE';

const S3_SECRET_FILE = 'WA2AI_MEDIA_S3_SECRET_KEY_FILE';
const WALLET_KEY_FILE = 'WA2AI_NPC_WALLET_KEY_FILE';
/** A private key of secp256k1 is less than this. */
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

type Variables = Record<string, string | undefined>;

/**
 * Reads secrets from files, as Docker and Kubernetes provide them: WA2AI_API_KEY_FILE becomes WA2AI_API_KEY,
 * WA2AI_MEDIA_S3_SECRET_KEY_FILE WA2AI_MEDIA_S3_SECRET_KEY, and DATABASE_PASSWORD_FILE becomes the password in DATABASE_URL, encoded. Spaces and line ends around a secret are removed.
 * @param variables the variables that are set, trimmed; not changed
 * @param report receives one sentence for each wrong variable; it contains names and paths, never a secret
 */
export function withSecretFiles(
  variables: Variables,
  report: (name: string, sentence: string) => void,
): Variables {
  const result = { ...variables };
  const key = secretOf(KEY_FILE, variables, report);
  if (key !== undefined) {
    if (variables.WA2AI_API_KEY) report(KEY_FILE, 'must not be set together with WA2AI_API_KEY');
    result.WA2AI_API_KEY = key;
  }
  const s3Secret = secretOf(S3_SECRET_FILE, variables, report);
  if (s3Secret !== undefined) {
    if (variables.WA2AI_MEDIA_S3_SECRET_KEY) {
      report(S3_SECRET_FILE, 'must not be set together with WA2AI_MEDIA_S3_SECRET_KEY');
    }
    result.WA2AI_MEDIA_S3_SECRET_KEY = s3Secret;
  }
  const password = secretOf(PASSWORD_FILE, variables, report);
  if (password !== undefined) {
    const url = URL.canParse(variables.DATABASE_URL ?? '')
      ? new URL(variables.DATABASE_URL ?? '')
      : undefined;
    if (url === undefined)
      report(PASSWORD_FILE, 'must not be set without DATABASE_URL, whose password it contains');
    else if (url.password) report(PASSWORD_FILE, 'must not be set when DATABASE_URL contains a password');
    else {
      url.password = encodeURIComponent(password);
      result.DATABASE_URL = url.href;
    }
  }
  return result;
}

/**
 * The private key of the NPC's wallet, `0x` and 64 lower-case digits; there is no variable that contains it.
 * @param report as of `withSecretFiles`
 */
export function walletKeyOf(
  variables: Variables,
  report: (name: string, sentence: string) => void,
): string | undefined {
  const key = secretOf(WALLET_KEY_FILE, variables, report)?.toLowerCase().replace(/^0x/, '');
  if (key === undefined) return undefined;
  const isKey = /^[0-9a-f]{64}$/.test(key) && BigInt(`0x${key}`) > 0n && BigInt(`0x${key}`) < CURVE_ORDER;
  if (isKey) return `0x${key}`;
  report(WALLET_KEY_FILE, 'must name a file that contains a private key: 64 hexadecimal digits');
  return undefined;
}

function secretOf(
  name: string,
  variables: Variables,
  report: (name: string, sentence: string) => void,
): string | undefined {
  const path = variables[name];
  if (path === undefined) return undefined;
  try {
    const secret = readFileSync(path, 'utf8').trim();
    if (secret !== '') return secret;
    report(name, `must name a file that contains a secret; ${path} is empty`);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    report(name, `must name a file that this user can read; ${path} cannot be read${code}`);
  }
  return undefined;
}
