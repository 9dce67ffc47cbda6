import type { ExactJson } from './lenient-json.ts';

/** A person's mistake in an argument: one friendly sentence for the chat and the API. */
export class AbiInputError extends Error {}

/**
 * The file of a message in the place of an argument of type bytes. Before its bytes are fetched, what it is stands for
 * them: a value that can be shown and not be encoded.
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

/** What can become a value: JSON, exact JSON, text, bigint, and bytes as a Uint8Array or a message's file. */
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

/** Stands for a value that is not known yet: it fits every type. Used to check templates. */
export const ANYTHING = Symbol('any value');
