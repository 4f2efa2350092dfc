import { render } from 'preact';
import { localSession } from './api/session.ts';
import { Shell } from './shell.tsx';
import './style.css';

render(<Shell session={localSession()} />, document.body);
