/**
 * The command that adds a first route for an account: every chat, answered by an ADK agent on this machine. Pure.
 * @param url where the REST API is
 */
export function firstRouteCommand(url: string, accountId: string, environment: string): string {
  const route = {
    accountId,
    channelId: '*',
    agentEndpoint: 'http://localhost:8000',
    environment,
    config: { adk: { appName: 'my_agent' } },
  };
  return `curl -X POST ${url}/api/routes -H 'Content-Type: application/json' -d '${JSON.stringify(route)}'`;
}
