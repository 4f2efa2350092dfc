#!/usr/bin/env node
import { spawn } from 'node:child_process';

// Node 20 lacks these.
Promise.withResolvers ??= <Value>() => {
  let resolvers: Omit<PromiseWithResolvers<Value>, 'promise'> | undefined;
  const promise = new Promise<Value>((resolve, reject) => {
    resolvers = { resolve, reject };
  });
  if (!resolvers) throw new Error('The executor of a promise runs at once.');
  return { promise, ...resolvers };
};

const groupBy = <Item, Key>(items: Iterable<Item>, keyOf: (item: Item, index: number) => Key) => {
  const groups = new Map<Key, Item[]>();
  for (const [index, item] of [...items].entries()) {
    const key = keyOf(item, index);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
};
Map.groupBy ??= groupBy;
Object.groupBy ??= (items, keyOf) => Object.fromEntries(groupBy(items, keyOf)) as never;

/** The option with which Node 20 has `JSON.rawJSON`, which keeps numbers as they were written. */
const RAW_JSON = '--harmony-json-parse-with-source';

/** Runs the command in a second process with that option; they end together. */
const runAgain = (): void => {
  const child = spawn(process.execPath, [RAW_JSON, ...process.argv.slice(1)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => process.exit(code ?? 1));
};

/** Runs `command` on a Node that has what the router uses. */
const onThisNode = async (command: () => Promise<unknown>): Promise<void> => {
  if (!('rawJSON' in JSON)) {
    runAgain();
    return;
  }
  if (process.execArgv.includes(RAW_JSON)) {
    process.on('disconnect', () => process.exit());
    process.channel?.unref();
  }
  await command();
};

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
