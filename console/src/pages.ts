import type { ComponentType } from 'preact';
import type { Scope } from './app/caller.tsx';
import type { IconName } from './components/icon.tsx';
import type { Language } from './translation/en.ts';

/** What a page gets: the parts of the address behind its own path, and its query. */
export interface PageProps {
  parts: string[];
  query: URLSearchParams;
}

/** A page of the console. Its code is loaded when it is opened first. */
export interface Page {
  /** First part of the address; empty: the start page. */
  path: string;
  /** Of its title in the texts. */
  name: keyof Language['pages'];
  /** Its page of the documentation, below `docs/`. */
  docs: string;
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
    name: 'start',
    docs: 'quick-start.md',
    icon: 'home',
    group: 'work',
    load: async () => (await import('./pages/start/start-page.tsx')).StartPage,
  },
  {
    path: 'chats',
    name: 'chats',
    docs: 'conversation.md',
    icon: 'chat',
    group: 'work',
    scope: 'messages:read',
    load: async () => (await import('./pages/chats/chats-page.tsx')).ChatsPage,
  },
  {
    path: 'playground',
    name: 'playground',
    docs: 'console.md#playground',
    icon: 'play',
    group: 'work',
    load: async () => (await import('./pages/playground/playground-page.tsx')).PlaygroundPage,
  },
  {
    path: 'dead-letters',
    name: 'dead-letters',
    docs: 'troubleshooting.md#dead-letters-of-messages',
    icon: 'letter',
    group: 'work',
    scope: 'messages:read',
    load: async () => (await import('./pages/dead-letters/dead-letters-page.tsx')).DeadLettersPage,
  },
  {
    path: 'accounts',
    name: 'accounts',
    docs: 'troubleshooting.md#account-states',
    icon: 'phone',
    group: 'connect',
    scope: 'accounts:read',
    load: async () => (await import('./pages/accounts/accounts-page.tsx')).AccountsPage,
  },
  {
    path: 'routes',
    name: 'routes',
    docs: 'routes.md',
    icon: 'route',
    group: 'connect',
    scope: 'routes:read',
    load: async () => (await import('./pages/routes/routes-page.tsx')).RoutesPage,
  },
  {
    path: 'agents',
    name: 'agents',
    docs: 'hosted-agents.md',
    icon: 'agent',
    group: 'connect',
    scope: 'messages:read',
    load: async () => (await import('./pages/agents/agents-page.tsx')).AgentsPage,
  },
  {
    path: 'webhooks',
    name: 'webhooks',
    docs: 'api.md#webhooks',
    icon: 'hook',
    group: 'connect',
    scope: 'webhooks:manage',
    load: async () => (await import('./pages/webhooks/webhooks-page.tsx')).WebhooksPage,
  },
  {
    path: 'keys',
    name: 'keys',
    docs: 'access.md#keys-of-the-api',
    icon: 'key',
    group: 'system',
    scope: 'admin',
    load: async () => (await import('./pages/keys/keys-page.tsx')).KeysPage,
  },
  {
    path: 'users',
    name: 'users',
    docs: 'access.md#users-of-the-console',
    icon: 'user',
    group: 'system',
    load: async () => (await import('./pages/users/users-page.tsx')).UsersPage,
  },
  {
    path: 'audit',
    name: 'audit',
    docs: 'access.md#audit-log',
    icon: 'list',
    group: 'system',
    scope: 'admin',
    load: async () => (await import('./pages/audit/audit-page.tsx')).AuditPage,
  },
  {
    path: 'settings',
    name: 'settings',
    docs: 'settings.md',
    icon: 'gear',
    group: 'system',
    scope: 'admin',
    load: async () => (await import('./pages/settings/settings-page.tsx')).SettingsPage,
  },
  {
    path: 'api',
    name: 'api',
    docs: 'api.md',
    icon: 'code',
    group: 'system',
    load: async () => (await import('./pages/api/api-page.tsx')).ApiPage,
  },
];
