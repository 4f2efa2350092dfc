import { join } from 'node:path';
import { sharedFolder } from '../house/leftovers.ts';

// A process of the CLI or of a server starts in half the time with what another one has compiled. Set in the workers, so that they
// keep no such cache themselves: they would write it when they end, after the folder is deleted.
process.env.NODE_COMPILE_CACHE = join(sharedFolder(), 'compiled');
