// Only for the bench, loaded into a node before its program (`node --import`): no policy decides about a message. There is no
// setting for this.
import { register } from 'node:module';

const NO_POLICIES = 'export const chatPolicies = () => [];';

const hooks = `
export async function load(url, context, next) {
  if (!url.endsWith('/core/policies/policies.js')) return next(url, context);
  return { format: 'module', shortCircuit: true, source: ${JSON.stringify(NO_POLICIES)} };
}`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
