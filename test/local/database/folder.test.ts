import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { systemClock } from '../../../lambdas/support/clock.ts';
import { createDatabaseClient } from '../../../local/database/database-client.ts';
import { openFolder } from '../../../local/database/folder.ts';
import { openStores } from '../../../local/local-stores.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const root = temporaryFolder('data');
let folders = 0;
const newFolder = (): string => {
  folders += 1;
  return join(root, `${folders}`);
};

const fileIn = (folder: string): string => join(folder, 'model-router.sqlite');

const open = (folder: string) => openFolder({ folder, onFailure: () => undefined });

const PLAN = { id: 'plan', rpm: 10, quota: 100, period: 'month' } as const;

/** A folder with a plan, closed. */
const usedFolder = async (): Promise<string> => {
  const folder = newFolder();
  const stores = openStores(systemClock, await open(folder));
  await stores.parts.plans.putPlan(PLAN);
  await stores.close();
  return folder;
};

const planIn = async (folder: string) => {
  const stores = openStores(systemClock, await open(folder));
  try {
    return await stores.parts.plans.findPlan('plan');
  } finally {
    await stores.close();
  }
};

test('what was written is there when the folder is opened again, and only its owner can read the folder', async () => {
  const folder = await usedFolder();
  expect(await planIn(folder)).toEqual(PLAN);
  expect(statSync(folder).mode & 0o077).toBe(0);
});

test('a second process gets an error that says so, and the first goes on', async () => {
  const folder = newFolder();
  const first = openStores(systemClock, await open(folder));
  await expect(open(folder)).rejects.toThrow(
    `The data folder ${folder} is in use by another process`,
  );
  await first.parts.plans.putPlan(PLAN);
  await first.close();
  expect(await planIn(folder)).toEqual(PLAN);
});

test('a folder of a later version is not opened, and left as it is', async () => {
  const folder = await usedFolder();
  const later = new DatabaseSync(fileIn(folder));
  later.exec('PRAGMA user_version = 99');
  later.close();
  await expect(open(folder)).rejects.toThrow('A later version of the router wrote the data folder');
  const again = new DatabaseSync(fileIn(folder));
  expect(again.prepare('PRAGMA user_version').get()).toEqual({ user_version: 99 });
  again.close();
});

test('a database of another program is not opened', async () => {
  const folder = newFolder();
  mkdirSync(folder);
  const other = new DatabaseSync(fileIn(folder));
  other.exec('CREATE TABLE theirs (x)');
  other.close();
  await expect(open(folder)).rejects.toThrow('holds a database of another program');
});

test('a half-written file is reported as damaged', async () => {
  const folder = await usedFolder();
  truncateSync(fileIn(folder), 4_096 + 100);
  await expect(open(folder)).rejects.toThrow('is damaged: restore a copy of it');
});

test('an empty file is a new database, as a first start that was killed leaves it', async () => {
  const folder = newFolder();
  mkdirSync(folder);
  writeFileSync(fileIn(folder), '');
  expect(await planIn(folder)).toBeUndefined();
});

test.each([
  ['empty', (file: string) => truncateSync(file)],
  ['missing', (file: string) => rmSync(file)],
])(
  'a folder whose file is %s is not opened while a log holds what was written',
  async (_, lose) => {
    const [folder, copied] = [newFolder(), newFolder()];
    const stores = openStores(systemClock, await open(folder));
    await stores.parts.plans.putPlan(PLAN);
    mkdirSync(copied);
    for (const end of ['', '-wal']) copyFileSync(fileIn(folder) + end, fileIn(copied) + end);
    await stores.close();
    const [file, lost] = [fileIn(copied), join(copied, 'lost')];
    copyFileSync(file, lost);
    lose(file);
    await expect(open(copied)).rejects.toThrow('whose file is empty or missing: restore a copy');
    copyFileSync(lost, file);
    expect(await planIn(copied)).toEqual(PLAN);
  },
);

test('a file that is no database is reported', async () => {
  const folder = newFolder();
  mkdirSync(folder);
  writeFileSync(fileIn(folder), 'x'.repeat(8_192));
  await expect(open(folder)).rejects.toThrow('holds a file that is not a database');
});

test('a folder that cannot be created is reported', async () => {
  const folder = newFolder();
  closeSync(openSync(folder, 'w'));
  await expect(open(join(folder, 'below'))).rejects.toThrow('cannot be created');
});

test.runIf(existsSync('/proc'))('a folder below one that takes none is reported', async () => {
  await expect(open('/proc/router/data')).rejects.toThrow('cannot be created');
});

const LOCAL = fileURLToPath(new URL('../../../local', import.meta.url));

/** Runs a script in its own process, whose files cannot grow beyond `kilobytes`. */
const runLimited = (kilobytes: number, script: string) => {
  const command = `trap '' XFSZ; ulimit -f ${kilobytes}; exec "$0" --input-type=module -e "$1"`;
  return spawn('bash', ['-c', command, process.execPath, script], {
    cwd: LOCAL,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
};

test('on a disk that is full a write fails as refused, says why, and what was written before stays', async () => {
  const folder = newFolder();
  const child = runLimited(
    200,
    `
    const { openFolder } = await import('${LOCAL}/database/folder.ts');
    const { openStores } = await import('${LOCAL}/local-stores.ts');
    const { systemClock } = await import('${LOCAL}/../lambdas/support/clock.ts');
    const said = new Set();
    const stores = openStores(systemClock, await openFolder({ folder: '${folder}', onFailure: (text) => said.add(text) }));
    let written = 0;
    let error;
    while (!error && written < 10_000) {
      await stores.parts.plans
        .putPlan({ id: 'plan-' + written, rpm: 1, quota: 1, period: 'month', models: ['m'.repeat(500)] })
        .then(() => { written += 1; }, (cause) => { error = cause; });
    }
    const first = await stores.parts.plans.findPlan('plan-0');
    const failed = await stores.parts.plans.findPlan('plan-' + written);
    console.log(JSON.stringify({ written, name: error?.name, mayBeApplied: error?.mayBeApplied, said: [...said], first: first?.id, failed }));
    process.exit();
    `,
  );
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(errors).toBe('');
  const { written, ...seen } = JSON.parse(out);
  expect(written).toBeGreaterThan(10);
  expect(seen).toEqual({
    ...{ name: 'StoreUnavailable', mayBeApplied: false, first: 'plan-0' },
    said: [expect.stringMatching(/^The data folder .* cannot be (?:read or )?written: the disk/)],
  });
  const stores = openStores(systemClock, await open(folder));
  expect((await stores.parts.plans.listPlans()).length).toBe(written);
  await stores.close();
});

test('every write that was acknowledged before kill -9 is there afterwards, and no other', async () => {
  const scriptOn = (folder: string) => `
    const { openFolder } = await import('${LOCAL}/database/folder.ts');
    const { openStores } = await import('${LOCAL}/local-stores.ts');
    const { systemClock } = await import('${LOCAL}/../lambdas/support/clock.ts');
    const { writeSync } = await import('node:fs');
    const { parts } = openStores(systemClock, await openFolder({ folder: '${folder}', onFailure: console.error }));
    for (let at = 0; ; at += 1) {
      await parts.plans.putPlan({ id: 'plan-' + String(at).padStart(6, '0'), rpm: 1, quota: 1, period: 'month' });
      writeSync(1, at + '\\n');
    }
  `;
  for (let round = 0; round < 3; round += 1) {
    const folder = newFolder();
    let last = -1;
    const child = spawn(process.execPath, ['--input-type=module', '-e', scriptOn(folder)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface(child.stdout).on('line', (line) => {
      last = Number(line);
      if (last > 300) child.kill('SIGKILL');
    });
    await once(lines, 'close');
    const stores = openStores(systemClock, await open(folder));
    const stored = (await stores.parts.plans.listPlans()).length;
    await stores.close();
    // The write in flight may be there.
    expect(stored - 1 - last).toBeOneOf([0, 1]);
  }
});

test('items whose time is over are removed, and others stay', async () => {
  const database = await open(newFolder());
  const client = createDatabaseClient(database, systemClock);
  const write = (pk: string, ttl: number) =>
    client.call('UpdateItem', {
      ...{ TableName: 'meters', Key: { pk } },
      write: { set: { expiresAtSeconds: ttl }, returns: 'NONE' },
    });
  await write('old', 1_000);
  await write('new', 2_000);
  await database.expire(1_500_000);
  const read = async (pk: string) =>
    (await client.call('GetItem', { TableName: 'meters', Key: { pk }, ConsistentRead: true })).Item;
  expect(await read('old')).toBeUndefined();
  expect(await read('new')).toEqual({ pk: 'new', expiresAtSeconds: 2_000 });
  client.destroy();
  await database.close();
});
