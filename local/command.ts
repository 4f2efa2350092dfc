#!/usr/bin/env node
import { PROGRAM } from '#program';
import { onThisNode } from './older-node.ts';

const MINIMUM = 20;

const DEPLOY = `${PROGRAM.start} deploy needs what this package leaves out: CDK, and the sources that it bundles for Lambda.
In a checkout of the same version (${PROGRAM.version}):

  npm ci && npx cdk deploy

takes the options of a stage, e.g. -c stage=prod -c catalog=catalog.json.`;

/** The command `model-router` of the package: the first word chooses what runs with the others. */
const COMMANDS: Record<string, () => Promise<unknown>> = {
  admin: () => import('../cli/main.ts'),
  connect: () => import('../cli/connect.ts'),
  import: () => import('./import/main.ts'),
  deploy: async () => {
    process.stderr.write(`${DEPLOY}\n`);
    process.exitCode = 2;
  },
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
