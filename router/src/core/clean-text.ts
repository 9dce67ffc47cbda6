/**
 * Text that every store and every agent accepts: without NUL, which PostgreSQL rejects, and with U+FFFD in place of each
 * half of a surrogate pair. People can send both, and WhatsApp would deliver a rejected message again and again.
 */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\uFFFD');
}
