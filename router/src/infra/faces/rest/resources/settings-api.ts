import type { Config } from '../../../../config/config.ts';
import type { FaceSettings } from '../../../../core/ports/face-settings.ts';
import type { Logger } from '../../../../core/ports/logger.ts';
import { faceSwitch, isFaceOn, type SwitchedFace } from '../../face-switch.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { changedResponse, dataResponse } from '../fields.ts';

export interface SettingsApiDeps {
  faceSettings: FaceSettings;
  config: Pick<Config, 'host'>;
  log: Logger;
}

const FACES: Array<{ face: SwitchedFace; id: string; what: string }> = [
  { face: 'a2a', id: 'AgentToAgent', what: 'wa2ai as an A2A agent' },
  { face: 'mcp', id: 'McpServer', what: 'wa2ai as an MCP server' },
];

/** Settings of the protocols spoken to wa2ai: `/api/settings`. */
export function settingsApi(deps: SettingsApiDeps): Endpoint[] {
  return FACES.flatMap((face) => switchApi(deps, face));
}

function switchApi(
  { faceSettings, config, log }: SettingsApiDeps,
  { face, id, what }: (typeof FACES)[number],
): Endpoint[] {
  const common = { tag: 'Settings' as const, path: `/api/settings/${face}`, scopes: ['admin'] as const };
  return [
    endpoint({
      ...common,
      method: 'get',
      operationId: `get${id}Settings`,
      summary: `Show whether ${what} is on`,
      responses: { 200: { description: 'The settings.', schema: dataResponse(faceSwitch) } },
      handle: async () => {
        const data = { enabled: await isFaceOn(faceSettings, face, config.host) };
        return { status: 200, json: { success: true, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'put',
      operationId: `put${id}Settings`,
      summary: `Turn ${what} on or off`,
      description: 'Applies to all nodes at once. Default: on if WA2AI_HOST is a loopback address, else off.',
      body: faceSwitch,
      responses: { 200: { description: 'The stored settings.', schema: changedResponse(faceSwitch) } },
      handle: async ({ body }) => {
        await faceSettings.put(face, body);
        log.info({ face, enabled: body.enabled }, 'settings of a face changed');
        const message = `${what} is ${body.enabled ? 'on' : 'off'}`;
        return { status: 200, object: face, json: { success: true, message, data: body } };
      },
    }),
  ];
}
