import { withoutTrailing } from '../../../../core/text.ts';

/** Text without surrounding spaces and without invisible format characters, which copied text may contain. */
export function bare(text: string): string {
  return text.replace(/\p{Cf}/gu, '').trim();
}

/** The whole number in a text, decimal or `0x` hex; undefined when there is none or it has more digits than any type allows. */
export function bigintIn(text: string): bigint | undefined {
  // Keyboards and web pages also use other minus characters.
  const written = bare(text).replace(/^[\u2212\u2013]/, '-');
  const power = /^([-+]?)(\d{1,78})(?:\.(\d{1,78}))?e\+?(\d{1,2})$/i.exec(written);
  if (power) return wholeNumber(power);
  const parts = /^([-+]?)(0x)?0*((?:[1-9a-f][0-9a-f]*)?)$/i.exec(written);
  if (!parts || !/\d|[a-f]/i.test(written)) return undefined;
  const [, sign, hex, digits = ''] = parts;
  if (digits.length > 78 || (!hex && /[a-f]/i.test(digits)) || (hex && /0x$/i.test(written)))
    return undefined;
  const size = BigInt(`${hex ? '0x' : ''}${digits || '0'}`);
  return sign === '-' ? -size : size;
}

/** `1e18`, `1.5e18`, as people write amounts in wei; undefined for a fraction such as `1.5e0`. */
function wholeNumber([, sign, whole = '', fraction = '', exponent = '']: RegExpExecArray):
  | bigint
  | undefined {
  const zeros = Number(exponent) - fraction.length;
  const digits = `${whole}${fraction}`;
  if (zeros < 0 || digits.length + zeros > 78) return undefined;
  const size = BigInt(digits + '0'.repeat(zeros));
  return sign === '-' ? -size : size;
}

/**
 * Bytes from `0x` or `hex:` and hex, `text:` and UTF-8, `base64:` or plain base64 (also its URL form and without padding).
 * Hex digits without a prefix are hex when they give `size` bytes; without a size they may be ambiguous.
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
  // Node ignores invalid characters, so the text was base64 only when encoding the bytes gives it again.
  return withoutTrailing(bytes.toString('base64'), '=') === base64 ? bytes : undefined;
}
