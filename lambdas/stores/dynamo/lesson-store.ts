import { number, object, optional, readIfValid, string } from '../../support/schema.ts';
import type { LessonStore } from '../lesson-store.ts';
import { createTable, type TableOptions } from './table.ts';

const Stored = object({
  profile: string,
  until: number,
  ages: optional(string),
  owners: optional(string),
});

const KEY = 'L#lessons';
/** Before the name of a target, so that no other attribute has it. */
const PREFIX = 't:';

/** `LessonStore` on the meters table: one item, read at once, with an attribute per target. */
export const createDynamoLessonStore = (options: TableOptions): LessonStore => {
  const table = createTable(options);
  return {
    readLessons: async () => {
      // Kept for a minute by its reader.
      const item = (await table.read(KEY, { mayBeStale: true })) ?? {};
      return Object.fromEntries(
        Object.entries(item).flatMap(([name, value]) => {
          const lesson = name.startsWith(PREFIX) ? readIfValid(Stored, value) : undefined;
          return lesson ? [[name.slice(PREFIX.length), lesson]] : [];
        }),
      );
    },
    writeLesson: async (target, lesson) => {
      // Safe to repeat: the same lesson is written again.
      await table.apply(KEY, { set: { [`${PREFIX}${target}`]: lesson } });
    },
  };
};
