import type { z } from 'zod';
import { type Caller, mayDo } from '../../core/access/caller.ts';
import { ANY_CHANNEL, canonicalChannelId } from '../../core/chat-id.ts';
import type { Route, RouteConfig } from '../../core/models.ts';
import { PHRASES, say } from '../../core/phrases.ts';
import type { RouteAction, RouteChangeBy } from '../../core/ports/route-history.ts';
import type { App } from '../../feature.ts';
import type { AgentKind } from '../../infra/agents/agent-kind.ts';
import { kindNamed, wireConfigOf } from '../../infra/agents/route-config.ts';
import { type AgentOfRoute, unmasked } from '../../infra/agents/route-secrets.ts';
import { HttpProblem, mistakeAt } from '../../infra/operations/problem.ts';
import { refuseOtherChat, refuseOtherRoute } from '../../infra/operations/restrictions.ts';
import { invalid, validate } from '../../infra/operations/validate.ts';
import { routeSchemas, type Warning } from './route-schemas.ts';

/** What is stored with the version that a change of the routes makes. */
export function changeBy(caller: Caller, action: RouteAction): RouteChangeBy {
  return { action, caller: caller.kind, ...(caller.kind === 'key' && { keyId: caller.key.id }) };
}

/** Checks of a route that is to be stored, beside its schema. */
export class RouteChecks {
  readonly #app: App;
  readonly #changedConfig: z.ZodType;

  constructor(app: App) {
    this.#app = app;
    this.#changedConfig = routeSchemas(app.agentKinds).changedConfig;
  }

  /** @throws {HttpProblem} 403: the config names a fallback route that the caller may not use */
  async refuseOtherFallback(caller: Caller, next?: RouteConfig, before?: RouteConfig): Promise<void> {
    const id = next?.failure?.fallbackRouteId;
    if (id === undefined || id === before?.failure?.fallbackRouteId) return;
    refuseOtherRoute(caller, id);
    const fallback = await this.#app.routes.get(id);
    if (fallback) await refuseOtherChat(caller, fallback, this.#app.aliasesOf);
  }

  /**
   * The config to store: masks replaced by the stored secrets, everything checked.
   * @throws {HttpProblem} 400: the config cannot be used, one sentence per mistake
   */
  async usableConfig(
    next: AgentOfRoute,
    before: AgentOfRoute | undefined,
  ): Promise<{ stored: AgentOfRoute; warnings: Warning[] }> {
    const { agent } = next.config;
    const hasNoEndpoint =
      kindNamed(this.#app.agentKinds, agent?.kind)?.hasNoEndpoint?.(agent?.settings) ?? false;
    const agentEndpoint = hasNoEndpoint ? '' : next.agentEndpoint;
    if (!hasNoEndpoint && agentEndpoint === '') {
      throw invalid('body', [{ field: 'agentEndpoint', message: PHRASES['field.missing'] }]);
    }
    const { config, dropped, unknown } = unmasked(this.#app.agentKinds, { ...next, agentEndpoint }, before);
    if (unknown.length > 0) {
      const message = PHRASES['field.masked'];
      throw invalid(
        'body',
        unknown.map((field) => ({ field, message })),
      );
    }
    validate(this.#changedConfig, { config: wireConfigOf(config) }, 'body');
    await this.#refuseUnusable(config);
    const refused = this.#app.routeProbe.refusedAddresses({ agentEndpoint, config });
    if (refused.length > 0) throw invalid('body', refused);
    const message =
      'The stored secret was removed because the address of the agent changed. Send its value again.';
    return {
      stored: { agentEndpoint, config },
      warnings: dropped.map((field) => ({ code: 'SECRETS_DROPPED', field, message })),
    };
  }

  /** @throws {HttpProblem} 403: the caller may not make wa2ai run programs, which this route does */
  refuseOtherPrograms(caller: Caller, { agent }: RouteConfig): void {
    refusePrograms(caller, kindNamed(this.#app.agentKinds, agent?.kind), agent?.settings);
  }

  /** @throws {HttpProblem} 400: a route for everybody to an agent that is for one chat */
  refuseEverybody({ channelId, config: { agent } }: Pick<Route, 'channelId' | 'config'>): void {
    const kind = kindNamed(this.#app.agentKinds, agent?.kind);
    if (!kind?.isForOneChat || canonicalChannelId(channelId) !== ANY_CHANNEL) return;
    throw invalid('body', [mistakeAt('channelId', say('field.one-chat', { kind: kind.name }))]);
  }

  /** @throws {HttpProblem} 400: settings that their agent kind cannot use */
  async #refuseUnusable({ agent }: RouteConfig): Promise<void> {
    const kind = kindNamed(this.#app.agentKinds, agent?.kind);
    const problems = (await kind?.check?.(agent?.settings)) ?? [];
    if (problems.length === 0) return;
    throw invalid(
      'body',
      problems.map(({ field, message }) => ({ field: `config.${kind?.name}.${field}`, message })),
    );
  }
}

/** @throws {HttpProblem} 403: the caller may not make wa2ai run the program that these settings of a kind describe */
export function refusePrograms(caller: Caller, kind: AgentKind | undefined, settings: unknown): void {
  const scope = kind?.scopeOf?.(settings);
  if (scope !== undefined && !mayDo(caller, scope)) {
    throw new HttpProblem(403, 'SCOPE_MISSING', say('problem.key-lacks-scope', { scope }));
  }
}
