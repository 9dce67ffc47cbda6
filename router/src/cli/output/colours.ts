const CODES = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 } as const;

/** Colours of a terminal, or none. */
export class Colours {
  readonly isOn: boolean;

  constructor(isOn: boolean) {
    this.isOn = isOn;
  }

  paint(colour: keyof typeof CODES, text: string): string {
    return this.isOn ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text;
  }

  /** A state in green when it is good, yellow when a person should look, red when it is bad. */
  state(text: string, mood: 'good' | 'look' | 'bad'): string {
    return this.paint(mood === 'good' ? 'green' : mood === 'look' ? 'yellow' : 'red', text);
  }
}
