import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { runAuditTool } from '../../../../../router/src/infra/faces/access/audit-tool.ts';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../../support/http-api.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
  // The reads of a check are entries too; here they would change the log during the test.
  await api.recorder.stop();
  await api.auditLog.append([
    { at: new Date(0), face: 'rest', caller: 'session', action: 'login', outcome: 'ok', requestId: 'r' },
  ]);
});
afterEach(() => api.close());

const env = { WA2AI_API_KEY: ADMIN_KEY };
const hash = () => api.auditLog.stored[0]?.hash;

describe('wa2ai audit verify', () => {
  it('says that the log is intact, and where it ends', async () => {
    expect(await runAuditTool(['verify', api.url], env)).toEqual({
      text: `The audit log is intact: 1 entry.\nEnd: 1:${hash()}`,
      isGood: true,
    });
  });

  it('compares with the end that an earlier check printed', async () => {
    const first = await runAuditTool(['verify', api.url, '--earlier', `1:${hash()}`], env);
    expect(first.isGood).toBe(true);
    const other = await runAuditTool(['verify', api.url, '--earlier', `1:${'0'.repeat(64)}`], env);
    expect(other).toMatchObject({ isGood: false, text: expect.stringContaining('not intact. Entry 1') });
  });

  it('writes JSON', async () => {
    Object.assign(api.auditLog.stored[0] ?? {}, { action: 'other' });
    const { text, isGood } = await runAuditTool(['verify', api.url, '--json'], env);
    expect(JSON.parse(text)).toMatchObject({ isIntact: false, problem: expect.any(String) });
    expect(isGood).toBe(false);
  });

  it('finds wa2ai and the key by the settings of the service', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'wa2ai-audit-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'key');
    writeFileSync(file, `${ADMIN_KEY}\n`);
    const settings = { WA2AI_PORT: new URL(api.url).port, WA2AI_API_KEY_FILE: file };
    expect((await runAuditTool(['verify'], settings)).isGood).toBe(true);
  });

  it.each([
    [[], 'the only command of audit is verify'],
    [['delete'], 'the only command of audit is verify'],
    [['verify', 'localhost:3000'], 'must begin with http'],
    [['verify', 'http://a', 'b'], 'unexpected argument "b"'],
    [['verify', '--earlier', '1'], '--earlier must be SEQ:HASH'],
    [['verify', '--all'], "Unknown option '--all'"],
  ])('refuses the arguments %j', async (args, sentence) => {
    await expect(runAuditTool(args, env)).rejects.toThrow(sentence);
  });

  it('refuses a key file that cannot be read', async () => {
    const settings = { WA2AI_API_KEY_FILE: '/nowhere/key' };
    await expect(runAuditTool(['verify', api.url], settings)).rejects.toThrow('WA2AI_API_KEY_FILE');
  });

  it('shows help', async () => {
    expect((await runAuditTool(['--help'], {})).text).toContain('--earlier SEQ:HASH');
  });
});
