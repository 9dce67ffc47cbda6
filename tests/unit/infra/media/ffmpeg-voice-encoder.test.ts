import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../router/src/infra/clock/system-clock.ts';
import { FfmpegVoiceEncoder } from '../../../../router/src/infra/media/ffmpeg-voice-encoder.ts';
import { MP3, MP4, opusFile, PNG } from '../../../support/sounds.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-ffmpeg-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** An encoder whose ffmpeg is this script. */
async function encoderWith(script: string, timeoutMs?: number) {
  const program = join(folder, 'ffmpeg');
  await writeFile(program, `#!${process.execPath}\n${script}\n`);
  await chmod(program, 0o755);
  return new FfmpegVoiceEncoder({ program, clock: systemClock, ...(timeoutMs && { timeoutMs }) });
}

const leftovers = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('wa2ai-voice-'));

describe('FfmpegVoiceEncoder', () => {
  it('gives ffmpeg the sound in a file with the format named, and returns what it writes', async () => {
    const voice = opusFile();
    await writeFile(join(folder, 'voice.ogg'), voice);
    const encoder = await encoderWith(`
      const fs = require('node:fs');
      const args = process.argv.slice(2);
      const input = args[args.indexOf('-i') + 1].replace('file:', '');
      fs.writeFileSync(${JSON.stringify(join(folder, 'seen.json'))},
        JSON.stringify({ args, env: Object.keys(process.env), input: fs.readFileSync(input, 'base64') }));
      process.stdout.write(fs.readFileSync(${JSON.stringify(join(folder, 'voice.ogg'))}));`);
    const before = await leftovers();
    expect(Buffer.from(await encoder.encode(MP3))).toEqual(voice);
    const seen = JSON.parse(await readFile(join(folder, 'seen.json'), 'utf8'));
    expect(seen.env).toEqual(['PATH']);
    expect(Buffer.from(seen.input, 'base64')).toEqual(MP3);
    expect(seen.args.join(' ')).toMatch(
      /-protocol_whitelist file -f mp3 -i file:\S+ .*-c:a libopus .*-f ogg pipe:1$/,
    );
    expect(await leftovers()).toEqual(before);
  });

  it('says what to do when ffmpeg is not installed', async () => {
    const encoder = new FfmpegVoiceEncoder({ program: join(folder, 'none'), clock: systemClock });
    await expect(encoder.encode(MP3)).rejects.toMatchObject({
      code: 'FILE_REFUSED',
      message: expect.stringMatching(/ffmpeg, which converts it, is not installed\. Install ffmpeg/),
    });
  });

  it('never opens a file of an unknown format, such as a playlist', async () => {
    const encoder = await encoderWith('process.stdout.write("x")');
    for (const bytes of [Buffer.from('#EXTM3U\nfile:///etc/passwd'), PNG]) {
      await expect(encoder.encode(bytes)).rejects.toThrow('no sound in a known format');
    }
  });

  it('refuses a sound that ffmpeg cannot read', async () => {
    const encoder = await encoderWith('process.exitCode = 1');
    await expect(encoder.encode(MP4)).rejects.toThrow('ffmpeg cannot convert the file');
  });

  it('ends ffmpeg when it takes too long, and when it writes too much', async () => {
    const hanging = await encoderWith('setInterval(() => undefined, 1000)', 300);
    await expect(hanging.encode(MP3)).rejects.toThrow('took too long');
    const endless = await encoderWith(
      'const more = () => process.stdout.write(Buffer.alloc(1e6), more); more();',
    );
    await expect(endless.encode(MP3)).rejects.toThrow('larger than 10 MB');
  });

  it('ends with its signal', async () => {
    const encoder = await encoderWith('process.stdout.write("x")');
    const reason = new Error('stopping');
    await expect(encoder.encode(MP3, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
