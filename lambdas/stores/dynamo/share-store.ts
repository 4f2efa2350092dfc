import { number, object, readIfValid, string } from '../../support/schema.ts';
import type { ShareStore } from '../share-store.ts';
import { type ConditionalWrite, createTable, type Item, type TableOptions } from './table.ts';

const Stored = object({ text: string, version: number, by: string });

const WRITE: ConditionalWrite = {
  update: 'SET #text = :text, #version = :next, #by = :by, #ttl = :ttl',
  condition: 'attribute_not_exists(#version) OR #version = :seen',
  returns: 'NONE',
};

/** A queue without a request for a day is as good as none. */
const LIFE_SECONDS = 86_400;

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
      const ttl = Math.ceil(clock.now() / 1_000) + LIFE_SECONDS;
      const values = { ':text': text, ':by': by, ':seen': seen, ':next': seen + 1, ':ttl': ttl };
      const { applied, item } = await table.apply(keyOf(name), WRITE, { values });
      if (applied) return { isWritten: true, stored: { text, version: seen + 1 } };
      const stored = item ? readIfValid(Stored, item satisfies Item) : await read(name);
      // A copy of this write was applied before: its response was lost.
      return { isWritten: stored?.by === by, stored };
    },
  };
};
