import { render } from 'preact';
import { Start } from './start.tsx';
import './style.css';

render(<Start />, document.body);
