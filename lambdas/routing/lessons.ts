import { isDeepStrictEqual } from 'node:util';
import { nameOf, type Target } from '../catalog/catalog.ts';
import type { Profile } from '../protocols/profile.ts';
import type { Lesson, LessonStore } from '../stores/lesson-store.ts';
import { type Clock, DAY_MS, MINUTE_MS, withTimeout } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { omitUndefined } from '../support/omit-undefined.ts';

/** What the models of targets turned out to accept, shared by all environments. Nothing here throws. */
export type Lessons = {
  /** Starts to read the lessons, concurrently with what a request awaits. */
  prefetch(): void;
  /** The target, its profile that of the catalog with what was learned about it. */
  adapt(target: Target): Promise<Target>;
  learn(target: Target, profile: Profile): Promise<void>;
};

/** A provider may change its model; relearning costs one rejected call. */
const LIFE_MS = DAY_MS;
/** What another environment learned is known within a minute. */
const FRESH_MS = MINUTE_MS;
const READ_TIMEOUT_MS = 250;
const WRITE_TIMEOUT_MS = 1_000;

/** The target's profile in the catalog, with the members that it has itself. */
const catalogProfile = (target: Target): Profile => {
  const { maxTokensField, reasoningHistory, toolCallIds, systemTurns } = target;
  const own = omitUndefined({ maxTokensField, reasoningHistory, toolCallIds, systemTurns });
  return { ...target.profile, ...own };
};

/** What the lesson adds to the profile; none if it is not JSON. */
const readLesson = (lesson: Lesson | undefined): Profile => {
  try {
    return JSON.parse(lesson?.profile ?? '{}');
  } catch {
    return {};
  }
};

/** A member that was learned replaces the target's own one, too. */
export const withProfile = (target: Target, profile: Profile): Target => ({
  ...target,
  ...profile,
  profile,
});

/** The members of `learned` in which it differs from `known`. */
const difference = (learned: Profile, known: Record<string, unknown>): Profile =>
  Object.fromEntries(
    Object.entries(learned).filter(([name, value]) => !isDeepStrictEqual(value, known[name])),
  );

export const createLessons = (parts: { store: LessonStore; clock: Clock; log: Log }): Lessons => {
  const { store, clock, log } = parts;
  let lessons: Record<string, Lesson> = {};
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<unknown> | undefined;
  /** The last form of each target, which holds until its lesson is another: it has many members to copy. */
  const adapted = new WeakMap<Target, { target: Target; lesson: Lesson | undefined }>();

  const lessonFor = (target: Target): Lesson | undefined => {
    const lesson = lessons[nameOf(target)];
    return lesson && lesson.until > clock.now() ? lesson : undefined;
  };

  const read = async () => {
    try {
      // Newer ones of this process may not have arrived in the table.
      const stored = Object.entries(await store.readLessons());
      const newer = stored.filter(([name, { until }]) => until >= (lessons[name]?.until ?? 0));
      lessons = { ...lessons, ...Object.fromEntries(newer) };
    } catch {
      log.warn('lessons_unreadable', {});
    }
  };

  const prefetch = () => {
    if (clock.now() - readAt < FRESH_MS) return;
    readAt = clock.now();
    reading = withTimeout(clock, READ_TIMEOUT_MS, read());
  };

  return {
    prefetch,
    adapt: async (original) => {
      prefetch();
      await reading;
      const lesson = lessonFor(original);
      const last = adapted.get(original);
      if (last && last.lesson === lesson) return last.target;
      const profile = { ...catalogProfile(original), ...readLesson(lesson) };
      const target = withProfile(original, profile);
      adapted.set(original, { target, lesson });
      return target;
    },
    learn: async (target, learned) => {
      const profile = JSON.stringify(difference(learned, catalogProfile(target)));
      const lesson = { profile, until: clock.now() + LIFE_MS };
      const name = nameOf(target);
      lessons = { ...lessons, [name]: lesson };
      try {
        await withTimeout(clock, WRITE_TIMEOUT_MS, store.writeLesson(name, lesson));
      } catch {
        log.warn('lessons_unwritable', { target: name });
      }
    },
  };
};
