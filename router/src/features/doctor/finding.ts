/** The result of one check. */
export interface Finding {
  /** What was checked: `disk`, `database`. */
  check: string;
  /** `error`: wa2ai cannot work like this · `warning`: it works, and an operator should look. */
  level: 'ok' | 'warning' | 'error';
  /** One or two sentences, without a secret. */
  message: string;
  /** What to do; only with a warning or an error. */
  fix?: string;
}
