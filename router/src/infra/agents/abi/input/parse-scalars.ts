/** Text without what nobody sees: spaces around it, and the marks for direction and width that copying brings along. */
export function bare(text: string): string {
  return text.replace(/\p{Cf}/gu, '').trim();
}

/** The whole number that a person wrote, decimal or `0x` hex; undefined when it is none or longer than any type can have. */
export function bigintIn(text: string): bigint | undefined {
  // Keyboards and web pages write a minus of their own.
  const written = bare(text).replace(/^[\u2212\u2013]/, '-');
  const parts = /^([-+]?)(0x)?0*((?:[1-9a-f][0-9a-f]*)?)$/i.exec(written);
  if (!parts || !/\d|[a-f]/i.test(written)) return undefined;
  const [, sign, hex, digits = ''] = parts;
  if (digits.length > 78 || (!hex && /[a-f]/i.test(digits)) || (hex && /0x$/i.test(written)))
    return undefined;
  const size = BigInt(`${hex ? '0x' : ''}${digits || '0'}`);
  return sign === '-' ? -size : size;
}

/**
 * Bytes of `0x` or `hex:` hex, `text:` and UTF-8, `base64:` or plain base64 (its URL form and absent padding allowed).
 * Hex digits alone are hex when that gives `size` bytes; without a size they could be either.
 */
export function bytesIn(written: string, size: number | undefined): Buffer | 'ambiguous' | undefined {
  if (/^text:/i.test(written)) return Buffer.from(written.slice(5), 'utf8');
  const text = bare(written);
  const hex = /^(?:0x|hex:)(.*)$/is.exec(text)?.[1];
  if (hex !== undefined) return hexBytes(hex);
  const digits = text === '' ? undefined : hexBytes(text);
  if (digits && digits.length === size) return digits;
  const base64 = base64Bytes(text.replace(/^base64:/i, ''));
  return digits && base64 && size === undefined ? 'ambiguous' : base64;
}

function hexBytes(digits: string): Buffer | undefined {
  return /^(?:[0-9a-f]{2})*$/i.test(digits) ? Buffer.from(digits, 'hex') : undefined;
}

function base64Bytes(text: string): Buffer | undefined {
  const base64 = text
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/={1,2}$/, '');
  if (!/^[A-Za-z0-9+/]*$/.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  // Node skips what it cannot read: only text that comes out again as it went in was base64.
  return bytes.toString('base64').replace(/=+$/, '') === base64 ? bytes : undefined;
}
