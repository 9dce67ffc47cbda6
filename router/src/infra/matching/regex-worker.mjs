// Thread program of RegexMatcher, a Piscina worker. Plain JavaScript, because it runs as a file from the sources and from dist/.
import { createContext, Script } from 'node:vm';
import { LRUCache } from 'lru-cache';

const compiled = new LRUCache({ max: 500 });
const context = createContext({ expression: undefined, text: '' });
const script = new Script('expression.test(text)');

/** V8 interrupts a regular expression that runs inside a vm script when the time is over. The thread survives. */
export default function test({ pattern, text, budgetMs }) {
  try {
    const expression = compiled.get(pattern) ?? new RegExp(pattern);
    compiled.set(pattern, expression);
    Object.assign(context, { expression, text });
    return script.runInContext(context, { timeout: budgetMs }) ? 'match' : 'no-match';
  } catch (error) {
    return error instanceof SyntaxError ? 'invalid' : 'timeout';
  } finally {
    context.text = '';
  }
}
