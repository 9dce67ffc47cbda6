import { baseUrl } from './base-url.ts';

/** What a live event is about. `reset`: events were missed, so everything may have changed. */
const LIVE_TYPES = [
  'message',
  'turn',
  'reply',
  'delivery',
  'account',
  'route',
  'chat',
  'dead-letter',
  'draft',
  'agent',
  'key',
  'setting',
  'webhook',
  'task',
  'reset',
] as const;
export type LiveType = (typeof LIVE_TYPES)[number];

/** A change at the service, without its text. */
export interface LiveEvent {
  type: LiveType;
  at?: string;
  accountId?: string;
  chatId?: string;
  id?: string;
}

/** How often queries are repeated while there is no stream of events. */
const POLL_MS = 5_000;
const RECONNECT_MS = 5_000;

type Listener = (event: LiveEvent) => void;
type StateListener = (isLive: boolean) => void;

const listeners = new Set<Listener>();
const stateListeners = new Set<StateListener>();
let isLive = false;

/** Calls `listener` for each event until the returned function is called. */
export function onLiveEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls `listener` with whether events arrive, now and after each change. */
export function onLiveState(listener: StateListener): () => void {
  stateListeners.add(listener);
  listener(isLive);
  return () => stateListeners.delete(listener);
}

const reachedListeners = new Set<StateListener>();
let isReached = true;

/** Whether the service answered the last call or has opened the stream. */
export function setReached(next: boolean): void {
  if (next === isReached) return;
  isReached = next;
  for (const listener of [...reachedListeners]) listener(next);
}

/** Calls `listener` with whether the service answers, now and after each change. */
export function onReached(listener: StateListener): () => void {
  reachedListeners.add(listener);
  listener(isReached);
  return () => reachedListeners.delete(listener);
}

/** Opens the one stream of events of this page. Without it, and while the service does not answer, a `reset` event comes every five seconds. */
export function startLiveEvents(): void {
  setInterval(() => {
    if ((!isLive || !isReached) && !document.hidden) emit({ type: 'reset' });
  }, POLL_MS);
  connect();
}

function connect(): void {
  const source = new EventSource(new URL('api/events', baseUrl));
  let wasOpen = false;
  source.onopen = () => {
    setReached(true);
    setLive(true);
    // what changed between two streams without a common id
    if (wasOpen) emit({ type: 'reset' });
    wasOpen = true;
  };
  source.onerror = () => {
    setLive(false);
    if (source.readyState !== EventSource.CLOSED) return;
    source.close();
    setTimeout(connect, RECONNECT_MS);
  };
  for (const type of LIVE_TYPES) {
    source.addEventListener(type, ({ data }: MessageEvent<string>) => emit({ ...parsed(data), type }));
  }
}

function parsed(data: string): Partial<LiveEvent> {
  try {
    return JSON.parse(data) ?? {};
  } catch {
    return {};
  }
}

function emit(event: LiveEvent): void {
  for (const listener of [...listeners]) listener(event);
}

function setLive(next: boolean): void {
  if (next === isLive) return;
  isLive = next;
  for (const listener of [...stateListeners]) listener(next);
}
