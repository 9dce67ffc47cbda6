import './style.css';
import { render } from 'preact';
import { startLiveEvents } from './api/live.ts';
import { guardUnsaved } from './app/location.ts';
import { Shell } from './app/shell.tsx';
import { applyTheme } from './app/theme.ts';

applyTheme();
guardUnsaved();
startLiveEvents();
render(<Shell />, document.getElementById('app') as HTMLElement);
