/** Names of elements in which models write their reasoning. */
const NAMES = '(?:\\w{1,20}:)?(?:think|thinking|thought|thoughts|reasoning|reflection)';

/** A block of reasoning; one that does not end continues to the end of the text. */
const BLOCKS = [
  new RegExp(`<(${NAMES})(?:\\s[^<>]{0,100})?>[\\s\\S]*?(?:</\\1\\s{0,10}>|$)`, 'gi'),
  /\[THINK\][\s\S]*?(?:\[\/THINK\]|$)/g,
];

/** The end of a block whose beginning is part of the model's prompt, so that the answer does not contain it. */
const ENDS = [new RegExp(`^[\\s\\S]*</${NAMES}\\s{0,10}>`, 'i'), /^[\s\S]*\[\/THINK\]/];

const FINAL_CHANNEL = '<|channel|>final<|message|>';

/**
 * The part of a model's text that is meant for the person: without reasoning, which servers that do not separate it leave
 * in the text (`<think>…</think>`, `[THINK]…[/THINK]`, channels other than `final`). Trimmed.
 */
export function spokenText(text: string): string {
  let spoken = finalChannel(text);
  for (const block of BLOCKS) spoken = spoken.replace(block, '');
  for (const end of ENDS) spoken = spoken.replace(end, '');
  return spoken.trim();
}

function finalChannel(text: string): string {
  if (!text.includes('<|channel|>')) return text;
  const at = text.lastIndexOf(FINAL_CHANNEL);
  if (at < 0) return '';
  return text.slice(at + FINAL_CHANNEL.length).replace(/<\|(?:end|return|start)\|>[\s\S]*$/, '');
}
