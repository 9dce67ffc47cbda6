import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Schemas } from '../api/call.ts';
import { useQuery } from '../api/use-query.ts';

/** Whom the service takes this browser for, and what it may do. */
export type Caller = Schemas['SessionCaller'];
export type Scope = Caller['scopes'][number];

const CallerContext = createContext<Caller | undefined>(undefined);

/** Asks the service once for all components, and again when events were missed: a new role ends the stream. */
export function CallerProvider({ children }: { children: ComponentChildren }) {
  const caller = useQuery('GET /api/session').data?.data;
  return <CallerContext.Provider value={caller}>{children}</CallerContext.Provider>;
}

/** Undefined until the service has answered. */
export function useCaller(): Caller | undefined {
  return useContext(CallerContext);
}

/** Whether the person may do this. The service refuses it anyway; the console only offers nothing that it refuses. */
export function useMay(): (scope: Scope | undefined) => boolean {
  const scopes = useCaller()?.scopes ?? [];
  return (scope) => scope === undefined || scopes.includes(scope);
}

/** Shows its children only to those who may do this. */
export function Allowed(props: { scope: Scope; children: ComponentChildren }): ComponentChildren {
  return useMay()(props.scope) ? props.children : null;
}
