import { endWith } from './cli-error.ts';
import { run } from './run.ts';

run(process.argv.slice(2), Date.now(), process).catch(endWith);
