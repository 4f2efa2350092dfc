import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FATES } from '../../lambdas/protocols/ledger/fates.ts';
import { declaredIn, differencesOf, rowlessIn } from './differ.ts';
import { download, lockedRoot, REQUESTS, SDKS, type Sdk, versionIn } from './packages.ts';

/**
 * What the newest official SDKs declare and those of the lock do not. Exits with 1 if a new member of a request has no row in the
 * table of its protocol (lambdas/protocols/ledger/fates): it is sent to targets of the protocol, and named to others.
 */
const print = (line: string) => process.stdout.write(`${line}\n`);

const rowless = (sdk: Sdk, root: string): string[] =>
  REQUESTS.filter((one) => one.sdk === sdk).flatMap(({ file, type, protocol }) =>
    rowlessIn(join(root, file), type, FATES[protocol]).map((path) => `${protocol} ${path}`),
  );

const follow = (sdk: Sdk, folder: string): number => {
  const locked = lockedRoot(sdk);
  const newest = download(sdk, 'latest', folder);
  print(`\n${sdk}: ${versionIn(locked)} in the lock, ${versionIn(newest)} is the newest`);
  for (const line of differencesOf(declaredIn(sdk, locked), declaredIn(sdk, newest))) print(line);
  const known = new Set(rowless(sdk, locked));
  const fresh = rowless(sdk, newest).filter((path) => !known.has(path));
  for (const path of fresh) print(`NO ROW ${path}`);
  return fresh.length;
};

const folder = mkdtempSync(join(tmpdir(), 'whats-new-'));
try {
  const missing = SDKS.map((sdk) => follow(sdk, folder)).reduce((sum, one) => sum + one, 0);
  print(`\n${missing} new members of requests without a row`);
  process.exitCode = missing > 0 ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
