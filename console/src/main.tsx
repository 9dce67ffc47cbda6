import './style.css';
import { render } from 'preact';
import { startLiveEvents } from './api/live.ts';
import { language } from './app/language.ts';
import { guardUnsaved } from './app/location.ts';
import { Shell } from './app/shell.tsx';
import { applyTheme } from './app/theme.ts';

applyTheme();
guardUnsaved(() =>
  language.value === 'es'
    ? 'Hay cambios sin guardar en esta página. ¿Salir sin guardarlos?'
    : 'This page has changes that are not saved. Leave without saving them?',
);
startLiveEvents();
render(<Shell />, document.getElementById('app') as HTMLElement);
