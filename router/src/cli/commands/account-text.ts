/** How good a state of a WhatsApp account is. */
export function moodOf(state: string): 'good' | 'look' | 'bad' {
  if (state === 'open') return 'good';
  return ['logged-out', 'proxy-failed', 'banned', 'replaced'].includes(state) ? 'bad' : 'look';
}
