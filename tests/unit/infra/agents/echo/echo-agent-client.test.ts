import { describe, expect, it } from 'vitest';
import { echoKind } from '../../../../../router/src/infra/agents/echo/echo-kind.ts';

const message = {
  ...{ id: 'IN1', from: '1@s.whatsapp.net', channelId: '1', text: 'hola **Ana**', timestamp: new Date(0) },
};

const client = (settings: { prefix?: string }) =>
  echoKind.client({} as Parameters<typeof echoKind.client>[0])(settings, { id: 'r', accountId: 'main' });

describe('the echo agent', () => {
  it('repeats a text as it is, and counts the attempt', async () => {
    let counted = 0;
    const beforeRequest = async () => {
      counted += 1;
    };
    const answer = await client({}).sendMessage('', message, { beforeRequest });
    expect(answer).toEqual({ success: true, response: 'hola **Ana**', isPlain: true });
    expect(counted).toBe(1);
  });

  it('writes its prefix first', async () => {
    expect((await client({ prefix: 'Echo: ' }).sendMessage('', message)).response).toBe('Echo: hola **Ana**');
  });

  it('names a file', async () => {
    const echo = client({});
    expect(await echo.takesFile?.(message, '')).toBe(true);
    const media = { kind: 'document' as const, mimeType: 'text/plain', fileName: 'a.txt' };
    expect((await echo.sendMessage('', { ...message, text: '', media })).response).toBe('[document: a.txt]');
    const image = { kind: 'image' as const, mimeType: 'image/png' };
    expect((await echo.sendMessage('', { ...message, media: image })).response).toBe(
      'hola **Ana**\n[image: image/png]',
    );
  });

  it('needs no endpoint and no settings', () => {
    expect(echoKind.hasNoEndpoint?.({})).toBe(true);
    expect(echoKind.settings.safeParse({}).success).toBe(true);
    expect(echoKind.settings.safeParse({ url: 'x' }).success).toBe(false);
  });
});
