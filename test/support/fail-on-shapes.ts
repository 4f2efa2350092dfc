import { afterAll, afterEach } from 'vitest';
import { takeBroken } from './shape-watch.ts';

const failOnBroken = () => {
  const [first] = takeBroken();
  if (first) throw first;
};

afterEach(failOnBroken);
// An answer may be over a moment after the test that asked for it.
afterAll(failOnBroken);
