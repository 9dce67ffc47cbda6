import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unzip } from '../../../runtime-server/unzip.ts';
import { zipFile } from '../../support/zip-file.ts';

let parent: string;
let folder: string;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'unzip-'));
  folder = join(parent, 'target');
});

afterEach(() => rmSync(parent, { recursive: true }));

describe('unzip', () => {
  it('writes files, folders and permissions', () => {
    unzip(
      zipFile([
        { name: 'docs/', content: Buffer.alloc(0) },
        { name: 'docs/a.txt', content: Buffer.from('text ü') },
        { name: 'run.sh', content: Buffer.from('#!/bin/sh\n'), mode: 0o755, isStored: true },
      ]),
      folder,
    );
    expect(readFileSync(join(folder, 'docs/a.txt'), 'utf8')).toBe('text ü');
    expect(statSync(join(folder, 'run.sh')).mode & 0o777).toBe(0o755);
  });

  it.each(['../outside', '/etc/outside', 'a/../../outside', '..', 'a\\..\\..\\outside', 'a\0b'])(
    'refuses the name %j and writes nothing',
    (name) => {
      const archive = zipFile([
        { name: 'first', content: Buffer.from('1') },
        { name, content: Buffer.from('x') },
      ]);
      expect(() => unzip(archive, folder)).toThrow('leads out of the target folder');
      expect(readdirSync(parent)).toEqual([]);
    },
  );

  it('refuses what is no archive, a wrong checksum and a wrong size', () => {
    const content = Buffer.from('content');
    expect(() => unzip(Buffer.from('no archive'), folder)).toThrow('File is not a zip file');
    expect(() => unzip(zipFile([{ name: 'a', content, statedChecksum: 1 }]), folder)).toThrow('Bad CRC-32');
    expect(() => unzip(zipFile([{ name: 'a', content, statedBytes: 2 }]), folder)).toThrow();
  });

  it('refuses an archive that would unpack to more than the limit', () => {
    const large = { name: 'bomb', content: Buffer.from('x'), statedBytes: 0xfffffff0 };
    expect(() => unzip(zipFile([large]), folder)).toThrow('too large');
    expect(existsSync(folder)).toBe(false);
  });

  it('fails with a known error for any damaged archive', () => {
    const archive = zipFile([{ name: 'a.txt', content: Buffer.from('some content') }]);
    fc.assert(
      fc.property(fc.nat(archive.length - 1), fc.nat(255), (at, byte) => {
        const damaged = Buffer.from(archive);
        damaged[at] = byte;
        try {
          unzip(damaged, join(folder, 'x'));
        } catch (error) {
          // or one of the file system, such as a file in place of a folder
          expect(error).toSatisfy((thrown: Error) => thrown.name === 'RuntimeFault' || 'code' in thrown);
        }
      }),
      { numRuns: 300 },
    );
  });
});
