import type { ExactJson } from '../../lenient-json.ts';

/** A person's mistake in an argument; the message is one sentence for the chat and the API. */
export class AbiInputError extends Error {}

/**
 * The file of a message as an argument of type bytes. Until its bytes are fetched the value is a description, which can be
 * shown but not encoded.
 */
export class FileInput {
  /** Such as `<image/png, 512 bytes>`. */
  readonly shown: string;
  readonly bytes: Uint8Array | undefined;

  constructor(shown: string, bytes?: Uint8Array) {
    this.shown = shown;
    this.bytes = bytes;
  }
}

/** Input that can become a value: JSON, exact JSON, text, bigint, and bytes as a Uint8Array or as a message's file. */
export type AbiInput =
  | ExactJson
  | FileInput
  | number
  | bigint
  | Uint8Array
  | typeof ANYTHING
  | AbiInput[]
  | { [key: string]: AbiInput }
  | undefined;

/** Placeholder for a value that is not known yet; it fits each type. Used to check templates. */
export const ANYTHING = Symbol('any value');
