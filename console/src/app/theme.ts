import { Stored } from './stored.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/** The chosen colours; `system`: those of the device. */
export const theme = new Stored<Theme>('theme', THEMES, 'system');

/** Shows the chosen colours, now and after each change. */
export function applyTheme(): void {
  const apply = (value: Theme) => {
    if (value === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = value;
  };
  apply(theme.value);
  theme.subscribe(apply);
}
