#!/usr/bin/env node
import { onThisNode } from './older-node.ts';

const MINIMUM = 20;

/** The command `model-router` of the package: the first word chooses what runs with the others. */
const COMMANDS: Record<string, () => Promise<unknown>> = {
  admin: () => import('../cli/main.ts'),
  connect: () => import('../cli/connect.ts'),
  completion: () => import('../cli/completion.ts'),
  import: () => import('./import/main.ts'),
  deploy: () => import('./deploy.ts'),
};

const [word = ''] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;

if (Number(process.versions.node.split('.')[0]) < MINIMUM) {
  process.stderr.write(`Node ${MINIMUM} or newer is required; this is ${process.version}.\n`);
  process.exitCode = 1;
} else {
  await onThisNode(async () => {
    if (command) process.argv.splice(2, 1);
    await (command ?? (() => import('./main.ts')))();
  });
}
