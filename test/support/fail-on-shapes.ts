import { afterAll, afterEach } from 'vitest';
import { takeBroken, watchShapes } from './shape-watch.ts';

watchShapes();

const failOnBroken = () => {
  const [first] = takeBroken();
  if (first) throw first;
};

afterEach(failOnBroken);
// An answer may be over a moment after the test that asked for it.
afterAll(failOnBroken);
