import type { Schemas } from '../../api/call.ts';
import type { Mood } from '../../components/page.tsx';

const BUSY: readonly string[] = [
  'starting',
  'pairing',
  'passkey-required',
  'connecting',
  'waiting',
  'restricted',
];

/** The colour of a state. */
export function moodOf(state: Schemas['Account']['state']): Mood {
  if (state === 'open') return 'good';
  return BUSY.includes(state) ? 'busy' : 'bad';
}
