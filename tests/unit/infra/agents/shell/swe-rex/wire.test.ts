import { describe, expect, it } from 'vitest';
import {
  errorAnswer,
  executed,
  observation,
} from '../../../../../../router/src/infra/agents/shell/swe-rex/remote-runtime.ts';

describe('the wire of a shell runtime', () => {
  it('reads the result of a command, with and without an exit code', () => {
    expect(observation({ output: 'x', exit_code: 0, session_type: 'bash' })).toEqual({
      output: 'x',
      exit_code: 0,
    });
    expect(observation({ output: 'x', exit_code: null })).toEqual({ output: 'x', exit_code: null });
    expect(() => observation({ output: 5 })).toThrow('has no valid "output"');
    expect(() => executed({ stdout: '', stderr: '' })).toThrow('has no valid "exit_code"');
  });

  it('reads the class of an error, and survives any other answer', () => {
    const error = { message: 'm', class_path: 'swerex.exceptions.CommandTimeoutError', traceback: 't' };
    expect(errorAnswer(JSON.stringify({ swerexception: error }))).toEqual({
      message: 'm',
      class_path: 'swerex.exceptions.CommandTimeoutError',
      extra_info: {},
    });
    for (const text of ['', '{}', 'null', '<html>']) expect(errorAnswer(text).class_path).toBe('');
  });
});
