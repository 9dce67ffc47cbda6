import { useEffect, useState } from 'preact/hooks';

/** A choice of the person, kept in this browser and shared by all components. */
export class Stored<Value extends string> {
  readonly #name: string;
  readonly #listeners = new Set<(value: Value) => void>();
  #value: Value;

  constructor(name: string, values: readonly Value[], fallback: Value) {
    this.#name = `wa2ai.${name}`;
    const found = read(this.#name) as Value;
    this.#value = values.includes(found) ? found : fallback;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    this.#value = value;
    try {
      localStorage.setItem(this.#name, value);
    } catch {
      // storage is forbidden: the choice ends with the page
    }
    for (const listener of [...this.#listeners]) listener(value);
  }

  /** Calls `listener` after each change until the returned function is called. */
  subscribe(listener: (value: Value) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The value now; the component is drawn again when it changes. */
export function useStored<Value extends string>(stored: Stored<Value>): Value {
  const [value, setValue] = useState(stored.value);
  useEffect(() => stored.subscribe(setValue), [stored]);
  return value;
}

function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}
