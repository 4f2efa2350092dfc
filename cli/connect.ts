import { homedir } from 'node:os';
import { endWith } from './cli-error.ts';
import { connect } from './connect-client.ts';

connect(process.argv.slice(2), { env: process.env, home: homedir() })
  .then((text) => process.stdout.write(`${text}\n`))
  .catch(endWith);
