import type { App, Service } from '../../router/src/feature.ts';

/** Some parts of a handle, each as far as the test uses it. */
type Given<Handle> = {
  [Part in keyof Handle]?: Handle[Part] extends (...given: never) => unknown
    ? Handle[Part]
    : Partial<Handle[Part]> | undefined;
};

/** The handle of operations with only these parts. A part that the test does not give fails the test that uses it. */
export function appWith(given: Given<App>): App {
  return handleWith(given) as App;
}

/** The same for background work, durable functions and servers. */
export function serviceWith(given: Given<Service>): Service {
  return handleWith(given) as Service;
}

function handleWith(given: object): unknown {
  return new Proxy(given, {
    get: (parts, name) => {
      if (!Reflect.has(parts, name)) throw new TypeError(`the test gives no ${String(name)}`);
      return Reflect.get(parts, name);
    },
  });
}
