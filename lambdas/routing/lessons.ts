import type { Target } from '../catalog/catalog.ts';
import type { Profile } from '../protocols/profile.ts';
import type { Lesson, LessonStore } from '../stores/lesson-store.ts';
import { type Clock, withTimeout } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { omitUndefined } from '../support/omit-undefined.ts';
import { DAY_MS, MINUTE_MS } from '../support/time.ts';

/** What the models of targets turned out to accept, shared by all environments. Nothing here throws. */
export type Lessons = {
  /** Starts to read the lessons, concurrently with what a request awaits. */
  prefetch(): void;
  /** The target's profile in the catalog with what was learned about it. */
  profileOf(target: Target): Promise<Profile>;
  learn(target: Target, profile: Profile): Promise<void>;
};

/** A provider may change its model; relearning costs one rejected call. */
const LIFE_MS = DAY_MS;
/** What another environment learned is known within a minute. */
const FRESH_MS = MINUTE_MS;
const READ_TIMEOUT_MS = 250;
const WRITE_TIMEOUT_MS = 1_000;

const nameOf = ({ upstream, model }: Target): string => `${upstream}/${model}`;

/** The target's profile in the catalog, with the members that it has itself. */
const catalogProfile = (target: Target): Profile => {
  const { maxTokensField, reasoningHistory, toolCallIds, systemTurns } = target;
  const own = omitUndefined({ maxTokensField, reasoningHistory, toolCallIds, systemTurns });
  return { ...target.profile, ...own };
};

/** What the lesson adds to the profile; none if it is expired, or of a form that this version cannot read. */
const readLesson = (lesson: Lesson | undefined, now: number): Profile => {
  if (lesson === undefined || lesson.until <= now) return {};
  try {
    return JSON.parse(lesson.profile);
  } catch {
    return {};
  }
};

/** The members of `learned` in which it differs from `known`. */
const difference = (learned: Profile, known: Profile): Profile =>
  Object.fromEntries(
    Object.entries(learned).filter(
      ([name, value]) =>
        JSON.stringify(value) !==
        JSON.stringify(Object.entries(known).find(([one]) => one === name)?.[1]),
    ),
  );

export const createLessons = (parts: { store: LessonStore; clock: Clock; log: Log }): Lessons => {
  const { store, clock, log } = parts;
  let lessons: Record<string, Lesson> = {};
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<unknown> | undefined;

  const read = async () => {
    try {
      // Those of this process may not have arrived in the table.
      lessons = { ...lessons, ...(await store.readLessons()) };
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
    profileOf: async (target) => {
      prefetch();
      await reading;
      return { ...catalogProfile(target), ...readLesson(lessons[nameOf(target)], clock.now()) };
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
