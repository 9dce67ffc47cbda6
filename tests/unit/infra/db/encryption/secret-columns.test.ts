import { describe, expect, it } from 'vitest';
import { PUSH_KEY_CONTEXT } from '../../../../../router/src/features/a2a/push-updates.ts';
import { TASK_HOOK_CONTEXT } from '../../../../../router/src/features/a2a/task-hooks.ts';
import { HOSTED_AGENT_CONTEXT } from '../../../../../router/src/features/hosting/postgres-agent-registry.ts';
import { RPC_URL_CONTEXT } from '../../../../../router/src/features/npc/npc-chain.ts';
import { WEBHOOK_SECRET_CONTEXT } from '../../../../../router/src/features/webhooks/webhooks.ts';
import {
  authKeyContext,
  FILE_CONTENT_CONTEXT,
  journalContext,
  MEDIA_REF_CONTEXT,
  MESSAGE_SECRET_CONTEXT,
  ROUTE_CONFIG_CONTEXT,
} from '../../../../../router/src/infra/db/encryption/secret-cipher.ts';

describe('the contexts of encrypted values', () => {
  it('differ for every row, also where the parts of two keys are the same text together', () => {
    const contexts = [
      authKeyContext('a', 1, 'session', '1.0'),
      authKeyContext('a', 2, 'session', '1.0'),
      authKeyContext('b', 1, 'session', '1.0'),
      authKeyContext('a', 1, 'session1', '.0'),
      authKeyContext('a', 1, 'session","1', '0'),
      journalContext('a', 'h'),
      journalContext('ah', ''),
      journalContext('a","h', ''),
      MEDIA_REF_CONTEXT,
      MESSAGE_SECRET_CONTEXT,
      FILE_CONTENT_CONTEXT,
      ROUTE_CONFIG_CONTEXT,
      TASK_HOOK_CONTEXT,
      WEBHOOK_SECRET_CONTEXT,
      PUSH_KEY_CONTEXT,
      HOSTED_AGENT_CONTEXT,
      RPC_URL_CONTEXT,
    ];
    expect(new Set(contexts).size).toBe(contexts.length);
  });

  it('never change: values of earlier versions were encrypted with them', () => {
    expect(authKeyContext('sales', 2, 'session', '1.0')).toBe('["auth_key","sales",2,"session","1.0"]');
    expect(journalContext('sales', 'abc')).toBe('["journal","sales","abc"]');
    expect([
      MEDIA_REF_CONTEXT,
      MESSAGE_SECRET_CONTEXT,
      FILE_CONTENT_CONTEXT,
      ROUTE_CONFIG_CONTEXT,
      TASK_HOOK_CONTEXT,
      WEBHOOK_SECRET_CONTEXT,
      PUSH_KEY_CONTEXT,
      HOSTED_AGENT_CONTEXT,
      RPC_URL_CONTEXT,
    ]).toEqual([
      'message.media_ref',
      'message.secret',
      'outbox_file.content',
      'route.config',
      'served_task_hook.secret',
      'webhook.secret',
      'face_setting.a2a-push-key',
      'hosted_agent.settings',
      'face_setting.npc-rpc-url',
    ]);
  });
});
