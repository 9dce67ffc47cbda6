/** libsignal ships no types for its own protobufs; only what is read here is declared. */
declare module 'libsignal/src/protobufs.js' {
  export const WhisperMessage: { decode(bytes: Uint8Array): { ephemeralKey: Uint8Array } };
  export const PreKeyWhisperMessage: { decode(bytes: Uint8Array): { baseKey: Uint8Array } };
}
