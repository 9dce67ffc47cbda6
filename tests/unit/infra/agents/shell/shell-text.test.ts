import { describe, expect, it } from 'vitest';
import { resultResponse } from '../../../../../router/src/infra/agents/shell/shell-agent-client.ts';

describe('resultResponse', () => {
  it('shows output as code, with its exit code', () => {
    expect(resultResponse('a\nb\n', undefined, 100)).toEqual({ response: '```a\nb```' });
    expect(resultResponse('', 'exit code 1', 100)).toEqual({ response: 'exit code 1' });
    expect(resultResponse('', undefined, 100)).toEqual({ response: '(no output)' });
  });

  it('keeps code that contains a fence in one piece', () => {
    expect(resultResponse('x ``` y', undefined, 100).response).toBe("```x ''' y```");
  });

  it('shows the last form of a progress bar, and no control characters', () => {
    expect(resultResponse('10%\r50%\rdone\x07\n', undefined, 100).response).toBe('```done```');
  });

  it('sends long output as a document, with its beginning as the caption', () => {
    const output = Array.from({ length: 1_000 }, (_, line) => `line ${line}`).join('\n');
    const { response = '', files = [] } = resultResponse(output, 'exit code 2', 3_000);
    expect(response).toMatch(/^```line 0\nline 1\n/);
    expect(response).toContain(`… ${output.length} characters, all in the document\nexit code 2`);
    expect(response.length).toBeLessThanOrEqual(1_024);
    expect(files).toEqual([
      { kind: 'document', mimeType: 'text/plain', fileName: 'output.txt', bytes: Buffer.from(output) },
    ]);
  });
});
