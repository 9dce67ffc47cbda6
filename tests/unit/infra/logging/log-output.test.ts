import { describe, expect, it } from 'vitest';
import { LogOutput } from '../../../../router/src/infra/logging/log-output.ts';
import { createLogger } from '../../../../router/src/infra/logging/logger.ts';

/** An output whose free space a test sets. */
function aDisk() {
  const disk = {
    text: '',
    /** Free bytes. */
    room: Number.POSITIVE_INFINITY,
    failure: 'ENOSPC',
    output: new LogOutput({
      maxStallMs: 20,
      write: (_fd, bytes) => {
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
      disk.room = 0;
      for (const _ of [1, 2, 3]) log.info({}, 'lost');
      disk.room = Number.POSITIVE_INFINITY;
      log.info({}, 'two');
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
    disk.room = Number.POSITIVE_INFINITY;
    log.info({}, 'whole');
    const [cut, ...whole] = disk.lines();
    expect(cut).toHaveLength(10);
    expect(whole.map((line) => JSON.parse(line).msg)).toEqual([
      'log lines dropped, output not writable',
      'whole',
    ]);
  });

  it('drops lines of the terminal format as well', () => {
    const disk = aDisk();
    const log = createLogger({ level: 'info', format: 'pretty', output: disk.output });
    disk.room = 0;
    log.info({}, 'lost');
    disk.room = Number.POSITIVE_INFINITY;
    log.info({}, 'kept');
    expect(disk.text).toMatch(/kept/);
    expect(disk.text).not.toMatch(/"?lost"?\n/);
  });
});
