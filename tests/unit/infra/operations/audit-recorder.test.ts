import { describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../../../router/src/core/ports/audit-log.ts';
import { AuditRecorder } from '../../../../router/src/infra/operations/audit-recorder.ts';
import { MemoryAuditLog } from '../../../doubles/memory-audit-log.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

function event(action: string): AuditEvent {
  return { at: new Date(0), face: 'rest', caller: 'session', action, outcome: 'ok', requestId: action };
}

function setup() {
  const clock = new FakeClock();
  const auditLog = new MemoryAuditLog();
  const log = recordingLog();
  /** Sizes of the batches; each waits for `release` while `isHeld`. */
  const batches: number[] = [];
  const state = { isHeld: false, failure: undefined as Error | undefined };
  let release: () => void = () => undefined;
  const append = async (events: readonly AuditEvent[]) => {
    batches.push(events.length);
    if (state.isHeld) {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
    }
    if (state.failure) throw state.failure;
    await auditLog.append(events);
  };
  const recorder = new AuditRecorder({ auditLog: { append }, clock, log });
  const actions = () => auditLog.stored.map(({ action }) => action);
  return { clock, recorder, log, batches, state, actions, release: () => release() };
}

describe('AuditRecorder', () => {
  it('has stored a change when its record resolves', async () => {
    const { recorder, actions } = setup();
    await recorder.recordChange(event('a'));
    expect(actions()).toEqual(['a']);
  });

  it('stores reads together, a quarter of a second later', async () => {
    const { recorder, clock, batches, actions } = setup();
    for (const action of ['a', 'b', 'c']) recorder.recordRead(event(action));
    await clock.advanceMs(249);
    expect(actions()).toEqual([]);
    await clock.advanceMs(1);
    expect(actions()).toEqual(['a', 'b', 'c']);
    expect(batches).toEqual([3]);
  });

  it('stores waiting reads together with a change, in their order', async () => {
    const { recorder, batches, actions } = setup();
    recorder.recordRead(event('read'));
    await recorder.recordChange(event('change'));
    expect(actions()).toEqual(['read', 'change']);
    expect(batches).toEqual([2]);
  });

  it('stores what came during a statement with the next one', async () => {
    const { recorder, state, batches, actions, release } = setup();
    state.isHeld = true;
    const first = recorder.recordChange(event('1'));
    const others = ['2', '3', '4'].map((action) => recorder.recordChange(event(action)));
    await Promise.resolve();
    state.isHeld = false;
    release();
    await Promise.all([first, ...others]);
    expect(actions()).toEqual(['1', '2', '3', '4']);
    expect(batches.length).toBeLessThanOrEqual(2);
  });

  it('retries while the database is unavailable, and lets no response wait longer than two seconds', async () => {
    const { recorder, clock, state, actions, log } = setup();
    state.failure = new Error('away');
    let isDone = false;
    const change = recorder.recordChange(event('a')).then(() => {
      isDone = true;
    });
    await clock.advanceMs(1_999);
    expect(isDone).toBe(false);
    await clock.advanceMs(1);
    await change;
    expect(actions()).toEqual([]);
    expect(log.lines[0]).toMatchObject({ level: 'warn', message: 'audit entries not stored, retrying' });
    state.failure = undefined;
    await clock.advanceMs(1_000);
    expect(actions()).toEqual(['a']);
  });

  it('drops events when ten thousand wait, and says so', async () => {
    const { recorder, clock, state, actions, log } = setup();
    state.failure = new Error('away');
    for (let n = 0; n < 10_003; n++) recorder.recordRead(event(String(n)));
    expect(log.lines.map(({ fields }) => fields)).toEqual([{ dropped: 1 }, { dropped: 2 }]);
    state.failure = undefined;
    await clock.advanceMs(250);
    expect(actions()).toHaveLength(10_000);
  });

  it('stores what waits when it stops, and gives up if that fails', async () => {
    const { recorder, actions } = setup();
    recorder.recordRead(event('a'));
    await recorder.stop();
    expect(actions()).toEqual(['a']);
    const broken = setup();
    broken.state.failure = new Error('away');
    broken.recorder.recordRead(event('a'));
    await broken.recorder.stop();
    expect(broken.actions()).toEqual([]);
  });
});
