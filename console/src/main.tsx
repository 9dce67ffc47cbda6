import './style.css';
import { render } from 'preact';
import { startLiveEvents } from './api/live.ts';
import { loadLanguage } from './app/language.ts';
import { guardUnsaved } from './app/location.ts';
import { Shell } from './app/shell.tsx';
import { applyTheme } from './app/theme.ts';

applyTheme();
guardUnsaved();
startLiveEvents();
const show = () => render(<Shell />, document.getElementById('app') as HTMLElement);
loadLanguage().then(show, show);
