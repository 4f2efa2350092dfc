import { afterAll, afterEach, expect } from 'vitest';
import { takeLeaks } from './leak-watch.ts';

const expectNoLeaks = () => expect(takeLeaks(), 'what must stay inside').toEqual([]);

afterEach(expectNoLeaks);
// What was written while the routers closed.
afterAll(expectNoLeaks);
