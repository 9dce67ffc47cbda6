import { describe, expect, it } from 'vitest';
import { osFault, pyFloat, pyRepr, RuntimeFault } from '../../../runtime-server/fault.ts';

describe('pyRepr', () => {
  it.each([
    ['plain', "'plain'"],
    ["it's", '"it\'s"'],
    [`it's "it"`, `'it\\'s "it"'`],
    ['a\n\t\r\\b', "'a\\n\\t\\r\\\\b'"],
    ['\x00\x1b\x7f\xa0', "'\\x00\\x1b\\x7f\\xa0'"],
    ['ü 😀', "'ü 😀'"],
    ['\u200b\u2028', "'\\u200b\\u2028'"],
  ])('quotes %j as Python does', (text, repr) => {
    expect(pyRepr(text)).toBe(repr);
  });
});

describe('pyFloat', () => {
  it('writes whole seconds with a decimal', () => {
    expect([1, 0.25, 25].map(pyFloat)).toEqual(['1.0', '0.25', '25.0']);
  });
});

describe('osFault', () => {
  it('names the class and the path of an error of the operating system', () => {
    const error = Object.assign(new Error('EACCES'), { code: 'EACCES', path: '/root/x' });
    const fault = osFault(error, '/other') as RuntimeFault;
    expect(fault).toBeInstanceOf(RuntimeFault);
    expect(fault.classPath).toBe('builtins.PermissionError');
    expect(fault.message).toBe("[Errno 13] Permission denied: '/root/x'");
  });

  it('leaves any other error as it is', () => {
    const error = new Error('other');
    expect(osFault(error, '/x')).toBe(error);
  });
});
