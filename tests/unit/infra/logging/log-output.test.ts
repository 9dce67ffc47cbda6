import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import { LogOutput } from '../../../../router/src/infra/logging/log-output.ts';
import { createLogger } from '../../../../router/src/infra/logging/logger.ts';
import { RepeatedComplaints } from '../../../../router/src/infra/logging/repeated-complaints.ts';

/** A file that takes what a test lets it take. */
function aDisk() {
  const disk = {
    text: '',
    /** Bytes that still fit. */
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

describe('a disk under the log that is full', () => {
  it.each(['ENOSPC', 'EIO', 'EPIPE', 'EAGAIN'])(
    'loses lines and nothing else (%s), and says how many',
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
        { level: 40, lines: 3, msg: 'log lines were lost: they could not be written' },
        { msg: 'two' },
      ]);
    },
  );

  it('cuts a line off at most, and never joins it with another', () => {
    const disk = aDisk();
    const log = createLogger({ level: 'info', format: 'json', output: disk.output });
    disk.room = 10;
    log.info({}, 'cut off');
    disk.room = Number.POSITIVE_INFINITY;
    log.info({}, 'whole');
    const [cut, ...whole] = disk.lines();
    expect(cut).toHaveLength(10);
    expect(whole.map((line) => JSON.parse(line).msg)).toEqual([
      'log lines were lost: they could not be written',
      'whole',
    ]);
  });

  it('loses coloured lines as well', () => {
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

describe('a complaint that is made again and again', () => {
  it('is worth a line at first and then with every doubling, and as new after a minute of silence', () => {
    let nowMs = 0;
    const complaints = new RepeatedComplaints(() => nowMs);
    const told = Array.from({ length: 9 }, () => complaints.made('away'));
    expect(told).toEqual([1, 2, undefined, 4, undefined, undefined, undefined, 8, undefined]);
    expect(complaints.made('other')).toBe(1);
    nowMs = 59_999;
    expect(complaints.made('away')).toBeUndefined();
    nowMs += 60_000;
    expect(complaints.made('away')).toBe(1);
  });

  it('about the database is kept short in the log, and nothing else is', () => {
    const disk = aDisk();
    const log = createLogger({ level: 'info', format: 'json', output: disk.output }).child({ mod: 'x' });
    const away = new StorageUnavailableError('It is away.');
    for (let time = 0; time < 1_000; time++) {
      log.warn({ err: away }, 'it could not be read');
      log.warn({ err: new Error('an agent') }, 'agent did not answer');
    }
    const lines = disk.lines().map((line) => JSON.parse(line).msg as string);
    expect(lines.filter((line) => line === 'it could not be read')).toHaveLength(10);
    expect(lines.filter((line) => line === 'agent did not answer')).toHaveLength(1_000);
  });
});
