import { afterAll, afterEach, expect } from 'vitest';
import { restartWatch, takeLeaks } from './leak-watch.ts';

const expectNoLeaks = () => expect(takeLeaks(), 'what must stay inside').toEqual([]);

afterEach(expectNoLeaks);
// What was written while the routers closed.
afterAll(() => {
  expectNoLeaks();
  restartWatch();
});
