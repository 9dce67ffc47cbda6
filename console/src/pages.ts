import type { ComponentType } from 'preact';
import type { Scope } from './app/caller.tsx';
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
  /** What one must be allowed to do to open it. Absent: everybody may. */
  scope?: Scope;
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
    path: 'chats',
    title: { en: 'Chats', es: 'Chats' },
    icon: 'chat',
    group: 'work',
    scope: 'messages:read',
    load: async () => (await import('./pages/chats/chats-page.tsx')).ChatsPage,
  },
  {
    path: 'playground',
    title: { en: 'Playground', es: 'Área de pruebas' },
    icon: 'play',
    group: 'work',
    load: async () => (await import('./pages/playground/playground-page.tsx')).PlaygroundPage,
  },
  {
    path: 'dead-letters',
    title: { en: 'Dead letters', es: 'Mensajes fallidos' },
    icon: 'letter',
    group: 'work',
    scope: 'messages:read',
    load: async () => (await import('./pages/dead-letters/dead-letters-page.tsx')).DeadLettersPage,
  },
  {
    path: 'accounts',
    title: { en: 'Accounts', es: 'Cuentas' },
    icon: 'phone',
    group: 'connect',
    scope: 'accounts:read',
    load: async () => (await import('./pages/accounts/accounts-page.tsx')).AccountsPage,
  },
  {
    path: 'routes',
    title: { en: 'Routes', es: 'Rutas' },
    icon: 'route',
    group: 'connect',
    scope: 'routes:read',
    load: async () => (await import('./pages/routes/routes-page.tsx')).RoutesPage,
  },
  {
    path: 'agents',
    title: { en: 'Agents', es: 'Agentes' },
    icon: 'agent',
    group: 'connect',
    scope: 'messages:read',
    load: async () => (await import('./pages/agents/agents-page.tsx')).AgentsPage,
  },
  {
    path: 'webhooks',
    title: { en: 'Webhooks', es: 'Webhooks' },
    icon: 'hook',
    group: 'connect',
    scope: 'webhooks:manage',
    load: async () => (await import('./pages/webhooks/webhooks-page.tsx')).WebhooksPage,
  },
  {
    path: 'keys',
    title: { en: 'Keys', es: 'Claves' },
    icon: 'key',
    group: 'system',
    scope: 'admin',
    load: async () => (await import('./pages/keys/keys-page.tsx')).KeysPage,
  },
  {
    path: 'users',
    title: { en: 'Users', es: 'Usuarios' },
    icon: 'user',
    group: 'system',
    load: async () => (await import('./pages/users/users-page.tsx')).UsersPage,
  },
  {
    path: 'audit',
    title: { en: 'Audit log', es: 'Auditoría' },
    icon: 'list',
    group: 'system',
    scope: 'admin',
    load: async () => (await import('./pages/audit/audit-page.tsx')).AuditPage,
  },
  {
    path: 'settings',
    title: { en: 'Settings', es: 'Ajustes' },
    icon: 'gear',
    group: 'system',
    scope: 'admin',
    load: async () => (await import('./pages/settings/settings-page.tsx')).SettingsPage,
  },
  {
    path: 'api',
    title: { en: 'API reference', es: 'Referencia de la API' },
    icon: 'code',
    group: 'system',
    load: async () => (await import('./pages/api/api-page.tsx')).ApiPage,
  },
];
