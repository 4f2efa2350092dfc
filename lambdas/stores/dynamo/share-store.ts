import { DAY_MS } from '../../support/clock.ts';
import { number, object, readIfValid, string } from '../../support/schema.ts';
import type { ShareStore } from '../notes.ts';
import { expiring } from './item-write.ts';
import { createTable, type TableOptions } from './table.ts';

const Stored = object({ text: string, version: number, by: string });

/** A queue without a request for a day is as good as none. */
const LIFE_MS = DAY_MS;

const keyOf = (name: string): string => `share/${name}`;

/** `ShareStore` on the meters table: like breakers, queues may be lost. */
export const createDynamoShareStore = (options: TableOptions): ShareStore => {
  const table = createTable(options);
  const read = async (name: string) => {
    const item = await table.read(keyOf(name));
    return readIfValid(Stored, item);
  };
  const { clock } = options.client;
  return {
    readQueue: read,
    writeQueue: async (name, { text, by }, seen) => {
      const { applied, item } = await table.apply(keyOf(name), {
        set: { text, by, version: seen + 1, ...expiring(clock.now() + LIFE_MS) },
        conditions: [['version', '= or absent', seen]],
        returns: 'NONE',
      });
      if (applied) return { isWritten: true, stored: { text, version: seen + 1 } };
      const stored = item ? readIfValid(Stored, item) : await read(name);
      // A copy of this write was applied before: its response was lost.
      return { isWritten: stored?.by === by, stored };
    },
  };
};
