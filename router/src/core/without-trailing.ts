/**
 * The text without these characters at its end. An expression such as `/\/+$/` looks for the end of the text at every slash
 * of a run: its time grows with the square of the run.
 */
export function withoutTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
