/** Random bytes that an id takes. */
const WA_MESSAGE_ID_BYTES = 9;

/**
 * Makes a WhatsApp message id in the form that Baileys mints: `3EB0` and 18 upper-case hexadecimal digits. Phones
 * recognize the kind of client by its length and prefix, so no other form is used. 72 random bits: unique without a
 * check.
 * @param random exactly 9 bytes from a cryptographic source
 * @throws {RangeError} another number of bytes
 */
export function mintWaMessageId(random: Uint8Array): string {
  if (random.length !== WA_MESSAGE_ID_BYTES) {
    throw new RangeError(`A WhatsApp message id takes ${WA_MESSAGE_ID_BYTES} random bytes.`);
  }
  const digits = Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `3EB0${digits.toUpperCase()}`;
}
