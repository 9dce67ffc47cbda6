import type { App } from '../../router/src/feature.ts';

/** The handle of features with only these parts. A part that the test does not give fails the test that uses it. */
export function appWith(given: Partial<Omit<App, 'config'>> & { config?: Partial<App['config']> }): App {
  return new Proxy(given, {
    get: (parts, name) => {
      if (!Reflect.has(parts, name)) throw new TypeError(`the test gives no ${String(name)}`);
      return Reflect.get(parts, name);
    },
  }) as unknown as App;
}
