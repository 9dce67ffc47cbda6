import { Directory } from './directory.ts';
import { Events } from './events.ts';
import { Faults } from './faults.ts';
import type { MediaHost } from './media-host.ts';
import { makeServerIdentity } from './noise-server.ts';
import { Transcript } from './transcript.ts';

/** The state of one emulator; its parts share nothing else. */
export interface EmulatorContext {
  readonly directory: Directory;
  readonly events: Events;
  readonly faults: Faults;
  readonly transcript: Transcript;
  readonly mediaHost: MediaHost;
  readonly identity: ReturnType<typeof makeServerIdentity>;
}

export function createContext(mediaHost: MediaHost, isForged?: boolean): EmulatorContext {
  return {
    directory: new Directory(),
    events: new Events(),
    faults: new Faults(),
    transcript: new Transcript(),
    mediaHost,
    identity: makeServerIdentity(isForged),
  };
}
