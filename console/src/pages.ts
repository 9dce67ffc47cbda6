import type { ComponentType } from 'preact';
import type { IconName } from './components/icon.tsx';

/** What a page gets: the parts of the address behind its own path, and its query. */
export interface PageProps {
  parts: string[];
  query: URLSearchParams;
}

/** A page of the console. Its code is loaded when it is opened first. */
export interface Page {
  /** First part of the address; empty: the start page. */
  path: string;
  title: { en: string; es: string };
  icon: IconName;
  group: 'work' | 'connect' | 'system';
  load(): Promise<ComponentType<PageProps>>;
}

/** Every page, in the order of the navigation. A new page is a folder in `pages/` and one entry here. */
export const PAGES: readonly Page[] = [
  {
    path: '',
    title: { en: 'Start', es: 'Inicio' },
    icon: 'home',
    group: 'work',
    load: async () => (await import('./pages/start/start-page.tsx')).StartPage,
  },
  {
    path: 'accounts',
    title: { en: 'Accounts', es: 'Cuentas' },
    icon: 'phone',
    group: 'connect',
    load: async () => (await import('./pages/accounts/accounts-page.tsx')).AccountsPage,
  },
  {
    path: 'routes',
    title: { en: 'Routes', es: 'Rutas' },
    icon: 'route',
    group: 'connect',
    load: async () => (await import('./pages/routes/routes-page.tsx')).RoutesPage,
  },
  {
    path: 'settings',
    title: { en: 'Settings', es: 'Ajustes' },
    icon: 'gear',
    group: 'system',
    load: async () => (await import('./pages/settings/settings-page.tsx')).SettingsPage,
  },
];
