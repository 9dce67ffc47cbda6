import { NOISE_WA_HEADER } from '@whiskeysockets/baileys';
import { EmulatorError } from './emulator-error.ts';

const ROUTING_HEADER_BYTES = 7;

/**
 * Cuts a client's byte stream into frames of 3 length bytes and a body, in whatever chunks it arrives. The stream opens
 * with the WA header, before it an `ED` block when the client kept routing information of an earlier login.
 */
export class FrameReader {
  #pending = Buffer.alloc(0);
  #isOpened = false;

  /**
   * Adds bytes and returns the frames that are complete now, in order.
   * @throws {EmulatorError} when the stream begins with other bytes than the headers above
   */
  push(bytes: Uint8Array): Buffer[] {
    this.#pending = this.#pending.length ? Buffer.concat([this.#pending, bytes]) : Buffer.from(bytes);
    if (!this.#isOpened && !this.#readIntro()) return [];
    const frames: Buffer[] = [];
    while (this.#pending.length >= 3) {
      const end = 3 + this.#pending.readUIntBE(0, 3);
      if (this.#pending.length < end) break;
      frames.push(this.#pending.subarray(3, end));
      this.#pending = this.#pending.subarray(end);
    }
    return frames;
  }

  #readIntro(): boolean {
    let start = 0;
    if (this.#pending.subarray(0, 2).toString() === 'ED') {
      if (this.#pending.length < ROUTING_HEADER_BYTES) return false;
      start = ROUTING_HEADER_BYTES + this.#pending.readUIntBE(4, 3);
    }
    const end = start + NOISE_WA_HEADER.length;
    if (this.#pending.length < end) return false;
    if (!this.#pending.subarray(start, end).equals(NOISE_WA_HEADER)) {
      throw new EmulatorError('the stream does not open with the WA header');
    }
    this.#pending = this.#pending.subarray(end);
    this.#isOpened = true;
    return true;
  }
}

/** Puts the length in front of a frame's body. */
export function frameOf(body: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(3 + body.length);
  frame.writeUIntBE(body.length, 0, 3);
  frame.set(body, 3);
  return frame;
}
