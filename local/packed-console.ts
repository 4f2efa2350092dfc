import { readFileSync } from 'node:fs';
import type { ConsoleFiles } from '../lambdas/admin/console.ts';

/** In place of console/bundle.ts in the package that npm pack makes: it was bundled with the package. */
export const bundleConsole = (): ConsoleFiles =>
  JSON.parse(readFileSync(new URL('console.json', import.meta.url), 'utf8')) as ConsoleFiles;
