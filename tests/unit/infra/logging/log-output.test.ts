import { afterEach, describe, expect, it, vi } from 'vitest';
import { LogOutput } from '../../../../router/src/infra/logging/log-output.ts';
import { createLogger } from '../../../../router/src/infra/logging/logger.ts';

/** An output whose free space a test sets. */
function aDisk() {
  const disk = {
    text: '',
    /** How often something was written. */
    writes: 0,
    /** Free bytes. */
    room: Number.POSITIVE_INFINITY,
    failure: 'ENOSPC',
    output: new LogOutput({
      maxStallMs: 20,
      write: (_fd, bytes) => {
        disk.writes += 1;
        if (disk.room <= 0) throw Object.assign(new Error('no'), { code: disk.failure });
        const taken = Math.min(bytes.length, disk.room);
        disk.room -= taken;
        disk.text += Buffer.from(bytes.subarray(0, taken)).toString();
        return taken;
      },
    }),
    lines: () => disk.text.split('\n').filter((line) => line !== ''),
  };
  return disk;
}

describe('LogOutput on a full disk', () => {
  it.each(['ENOSPC', 'EIO', 'EPIPE', 'EAGAIN'])(
    'drops lines without an error (%s) and reports how many',
    (failure) => {
      const disk = aDisk();
      disk.failure = failure;
      const log = createLogger({ level: 'info', format: 'json', output: disk.output });
      log.info({}, 'one');
      log.flush();
      disk.room = 0;
      for (const _ of [1, 2]) log.info({}, 'lost');
      log.flush();
      log.info({}, 'lost');
      log.flush();
      disk.room = Number.POSITIVE_INFINITY;
      log.info({}, 'two');
      log.flush();
      expect(disk.lines().map((line) => JSON.parse(line))).toMatchObject([
        { msg: 'one' },
        { level: 'warn', lines: 3, msg: 'log lines dropped, output not writable' },
        { msg: 'two' },
      ]);
    },
  );

  it('can cut off a line, but never joins two lines', () => {
    const disk = aDisk();
    const log = createLogger({ level: 'info', format: 'json', output: disk.output });
    disk.room = 10;
    log.info({}, 'cut off');
    log.info({}, 'lost');
    log.flush();
    disk.room = Number.POSITIVE_INFINITY;
    log.info({}, 'whole');
    log.flush();
    const [cut, ...whole] = disk.lines();
    expect(cut).toHaveLength(10);
    expect(whole.map((line) => JSON.parse(line))).toMatchObject([
      { lines: 2, msg: 'log lines dropped, output not writable' },
      { msg: 'whole' },
    ]);
  });

  it('does not write again a line that was whole before the disk was full', () => {
    const disk = aDisk();
    disk.output.write('one\n');
    disk.output.write('two\n');
    disk.room = 4;
    disk.output.flush();
    disk.room = Number.POSITIVE_INFINITY;
    disk.output.write('three\n');
    disk.output.flush();
    const [one, dropped, three] = disk.lines();
    expect([one, three]).toEqual(['one', 'three']);
    expect(JSON.parse(String(dropped)).lines).toBe(1);
  });

  it('drops lines of the terminal format as well', () => {
    const disk = aDisk();
    const log = createLogger({ level: 'info', format: 'pretty', output: disk.output });
    disk.room = 0;
    log.info({}, 'lost');
    log.flush();
    disk.room = Number.POSITIVE_INFINITY;
    log.info({}, 'kept');
    log.flush();
    expect(disk.text).toMatch(/kept/);
    expect(disk.text).not.toMatch(/"?lost"?\n/);
  });
});

describe('LogOutput', () => {
  afterEach(() => vi.useRealTimers());

  it('writes the lines of 50 ms together', () => {
    vi.useFakeTimers();
    const disk = aDisk();
    for (const line of ['one', 'two', 'three']) disk.output.write(`${line}\n`);
    vi.advanceTimersByTime(49);
    expect(disk.writes).toBe(0);
    vi.advanceTimersByTime(1);
    expect(disk.lines()).toEqual(['one', 'two', 'three']);
    expect(disk.writes).toBe(1);
    disk.output.flush();
    expect(disk.writes).toBe(1);
    disk.output.write('four\n');
    vi.advanceTimersByTime(50);
    expect(disk.lines()).toEqual(['one', 'two', 'three', 'four']);
  });

  it('writes a warning at once, after the lines before it', () => {
    const disk = aDisk();
    const log = createLogger({ level: 'info', format: 'json', output: disk.output });
    log.info({}, 'one');
    expect(disk.writes).toBe(0);
    log.child({ mod: 'http' }).warn({}, 'two');
    expect(disk.lines().map((line) => JSON.parse(line).msg)).toEqual(['one', 'two']);
  });
});
