import type { RequestHandler } from 'express';
import { RESTRICTIONS } from '../../core/access/admission.ts';
import type { FaceSettings } from '../../core/ports/face-settings.ts';
import { type Face, isFaceOn } from '../../infra/operations/face.ts';
import type { A2aHandlerDeps } from './a2a-handler.ts';
import type { SigningKey } from './push-updates.ts';

export interface A2aFaceDeps extends A2aHandlerDeps {
  faceSettings: Pick<FaceSettings, 'get'>;
  /** Signs push notifications. */
  pushKey(): Promise<Pick<SigningKey, 'keySet'>>;
}

type Server = ReturnType<typeof import('./a2a-server.ts')['a2aServer']>;

/** wa2ai as an A2A agent. The SDK is loaded by the first request while the face is on. */
export function a2aFace(deps: A2aFaceDeps): Face[] {
  let loading: Promise<Server> | undefined;
  const load = () => {
    loading ??= import('./a2a-server.ts').then(({ a2aServer }) => a2aServer(deps));
    return loading;
  };
  const isOn = () => isFaceOn(deps.faceSettings, 'a2a', deps.config.host);
  const handle =
    (part: keyof Server): RequestHandler =>
    async (request, response, next) => {
      const server = await load();
      server[part](request, response, next);
    };
  return [
    { path: '/.well-known/agent-card.json', scopes: 'public', isOn, handle: handle('card') },
    {
      path: '/.well-known/jwks.json',
      scopes: 'public',
      isOn,
      handle: async (_request, response) => {
        response.json((await deps.pushKey()).keySet());
      },
    },
    { path: '/a2a', scopes: ['a2a'] as const, honours: RESTRICTIONS, isOn, handle: handle('calls') },
  ];
}
