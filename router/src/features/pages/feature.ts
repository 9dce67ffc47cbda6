import type { Feature } from '../../feature.ts';
import { docsPages } from './docs-pages.ts';
import { pages as pairingPages } from './pages.ts';

export const pages: Feature = {
  name: 'pages',
  pages: (app) => [...pairingPages(app), ...docsPages()],
};
