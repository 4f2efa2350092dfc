import { chai } from 'vitest';

// Without it each assertion is a proxy that names a member which does not exist. The compiler does that; a proxy takes two thirds of the
// CPU of `expect(one).toBe(other)`.
chai.config.useProxy = false;
