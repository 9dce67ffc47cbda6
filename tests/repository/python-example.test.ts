import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../support/repository.ts';

const FOLDER = join(repositoryRoot, 'examples/agents/strands-python');

function python(code: string, ...args: string[]): string {
  return execFileSync('python3', ['-B', '-c', code, ...args], { cwd: FOLDER, encoding: 'utf8' }).trim();
}

/** Needs python3. Its packages and a model are not here: this is what works without them. */
describe('examples/agents/strands-python', () => {
  it('has no error of syntax', () => {
    const compile = 'import sys; [compile(open(file).read(), file, "exec") for file in sys.argv[1:]]';
    expect(python(compile, 'agent_runner.py', 'conversation.py')).toBe('');
  });

  it('answers a repeated message once, also after a restart', () => {
    const folder = mkdtempSync(join(tmpdir(), 'wa2ai-python-'));
    const code = `
import sys
from pathlib import Path
from conversation import Answers
file = Path(sys.argv[1])
print(Answers(file).once("a", lambda: "first"), Answers(file).once("a", lambda: "second"))`;
    expect(python(code, join(folder, 'answers.json'))).toBe('first first');
    rmSync(folder, { recursive: true });
  });

  it('leaves calls of tools out of the history', () => {
    const code = `
import json
from conversation import history
messages = [
    {"role": "user", "content": [{"text": "hello"}]},
    {"role": "assistant", "content": [{"toolUse": {"name": "shell"}}]},
    {"role": "user", "content": [{"toolResult": {"status": "success"}}]},
    {"role": "assistant", "content": [{"text": "done"}]},
]
print(json.dumps(history(messages, 2)))`;
    expect(JSON.parse(python(code))).toEqual([
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'done' },
    ]);
  });

  it('names files of a session that are no paths', () => {
    const code = 'from conversation import session_name; print(session_name("../a@b/c"))';
    expect(python(code)).toBe('___a_b_c');
  });
});
