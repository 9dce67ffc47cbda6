const startedMs = performance.now();

/** Prints one line of the conversation: seconds since the start, who, what. */
export function say(who: string, text: string): void {
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(2).padStart(7);
  console.log(`${seconds}s  ${who.padEnd(16)} ${text}`);
}
