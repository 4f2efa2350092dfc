import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ODD_BODIES, ODD_BYTES } from '../../local/embedded-upstream/body-oddities.ts';
import { type Fault, parseFault } from '../../local/embedded-upstream/faults.ts';
import { STREAM_ODDITIES } from '../../local/embedded-upstream/stream-oddities.ts';

const page = readFileSync(new URL('../../docs/local.md', import.meta.url), 'utf8');
const chapter = page.split(/^## /m).find((part) => part.startsWith('Faults')) ?? '';

/** The fault words in the first cells of the chapter's tables. */
const words = chapter
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) => [...(line.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)])
  .flatMap(([, word]) => word ?? []);

/** One of each kind, so that a new kind does not compile until it is written down here. */
const KINDS: Record<Fault['kind'], string[]> = {
  status: ['status=503', 'status=429:7'],
  redirect: ['redirect'],
  body: Object.keys(ODD_BODIES).map((name) => `body=${name}`),
  bytes: Object.keys(ODD_BYTES).map((name) => `bytes=${name}`),
  stream: Object.keys(STREAM_ODDITIES).map((name) => `stream=${name}`),
  pings: ['pings'],
  empty: ['empty'],
  blank: ['blank'],
  slow: ['slow=200'],
  reset: ['reset', 'reset=3'],
  stall: ['stall', 'stall=3'],
  truncate: ['truncate', 'truncate=3'],
  malformed: ['malformed', 'malformed=3'],
  error: ['error', 'error=3'],
};

test.each(words)('docs/local.md names the valid fault %s', (word) => {
  expect(parseFault(word)).toBeDefined();
});

test('docs/local.md lists every fault once', () => {
  expect(words.toSorted()).toEqual(Object.values(KINDS).flat().toSorted());
});
