import type { Config } from '../../../../config/config.ts';
import type { FaceSettings } from '../../../../core/ports/face-settings.ts';
import type { Logger } from '../../../../core/ports/logger.ts';
import { a2aSettings, isA2aOn, storeA2aSettings } from '../../a2a/a2a-settings.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { changedResponse, dataResponse } from '../fields.ts';

export interface SettingsApiDeps {
  faceSettings: FaceSettings;
  config: Pick<Config, 'host'>;
  log: Logger;
}

/** Settings of the protocols spoken to wa2ai: `/api/settings`. */
export function settingsApi({ faceSettings, config, log }: SettingsApiDeps): Endpoint[] {
  const common = { tag: 'Settings' as const, path: '/api/settings/a2a', scopes: ['admin'] as const };
  return [
    endpoint({
      ...common,
      method: 'get',
      operationId: 'getAgentToAgentSettings',
      summary: 'Show whether wa2ai is an A2A agent',
      responses: { 200: { description: 'The settings.', schema: dataResponse(a2aSettings) } },
      handle: async () => {
        const data = { enabled: await isA2aOn(faceSettings, config.host) };
        return { status: 200, json: { success: true, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'put',
      operationId: 'putAgentToAgentSettings',
      summary: 'Turn wa2ai as an A2A agent on or off',
      description: 'Applies to all nodes at once. Default: on if WA2AI_HOST is a loopback address, else off.',
      body: a2aSettings,
      responses: { 200: { description: 'The stored settings.', schema: changedResponse(a2aSettings) } },
      handle: async ({ body }) => {
        await storeA2aSettings(faceSettings, body);
        log.info({ face: 'a2a', enabled: body.enabled }, 'settings of a face changed');
        const message = `wa2ai as an A2A agent is ${body.enabled ? 'on' : 'off'}`;
        return { status: 200, object: 'a2a', json: { success: true, message, data: body } };
      },
    }),
  ];
}
