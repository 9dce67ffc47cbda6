import type { Feature } from '../../feature.ts';
import { consoleFace } from './console-face.ts';
import { docsPages } from './docs-pages.ts';
import { pages as pairingPages } from './pages.ts';

export const pages: Feature = {
  name: 'pages',
  faces: () => [consoleFace()],
  pages: (app) => [...pairingPages(app), ...docsPages()],
};
