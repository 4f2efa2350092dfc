import { isDeepStrictEqual } from 'node:util';
import { nameOf, type Target } from '../catalog/catalog.ts';
import type { Profile } from '../protocols/profile.ts';
import type { Lesson, LessonStore } from '../stores/notes.ts';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS, tryFor, withTimeout } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { oncePer } from '../support/memo.ts';
import { omitUndefined } from '../support/objects.ts';

export type Lessons = ReturnType<typeof createLessons>;

export type Trial = { member: string; form: Target };
const NO_TRIALS: readonly Trial[] = [];

/** A provider may change its model; relearning costs one rejected call. */
const LIFE_MS = DAY_MS;
/** What another environment learned is known within a minute. */
const FRESH_MS = MINUTE_MS;
const READ_TIMEOUT_MS = 250;
const WRITE_TIMEOUT_MS = 1_000;

/** The target's profile in the catalog, with the members that it has itself. */
const catalogProfile = (target: Target): Profile => {
  const { maxTokensField, items, reasoningHistory, toolCallIds, systemTurns } = target;
  const own = { maxTokensField, items, reasoningHistory, toolCallIds, systemTurns };
  return { ...target.profile, ...omitUndefined(own) };
};

/** Of one protocol: a target of another one may have the same upstream and model, and has other members. */
export const keyOf = (target: Target): string => `${target.protocol}:${nameOf(target)}`;

/** The members of a JSON text; none if it is not JSON. */
const membersIn = (text = '{}'): [name: string, value: unknown][] => {
  try {
    return Object.entries(JSON.parse(text));
  } catch {
    return [];
  }
};

/** Members that are lists of names, which callers send. */
const LISTS = [
  ...(['betasWithout', 'versionsWithout', 'cacheWithout', 'hintsWithout'] as const),
  'schemaWithout',
] as const;
/** The project whose rejected request taught a name. */
type Owners = Record<string, string>;

/** What a lesson adds to the profile, and until when each member holds. */
type Learned = { profile: Record<string, unknown>; ages: Record<string, number>; owners: Owners };

const readLesson = (lesson: Lesson | undefined, now: number): Learned => {
  const known = new Map(membersIn(lesson?.ages));
  const ages = membersIn(lesson?.profile).flatMap(([name, value]) => {
    const until = Number(known.get(name) ?? lesson?.until);
    return until > now ? [{ name, value, until }] : [];
  });
  const profile: Profile = Object.fromEntries(ages.map(({ name, value }) => [name, value]));
  const names = new Set(LISTS.flatMap((list) => profile[list] ?? []));
  const owners = membersIn(lesson?.owners).filter(([name]) => names.has(name));
  return {
    profile,
    ages: Object.fromEntries(ages.map(({ name, until }) => [name, until])),
    owners: Object.fromEntries(owners.map(([name, owner]) => [name, String(owner)])),
  };
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

/** As a request can ask for; earlier names stay, or one caller could push out what others need. */
const MAX_NAMES = 32;
/** So many may be those of one project: what it invents leaves the others room. */
const MAX_NAMES_OF_ONE = 16;
/** As vendors name them; callers may invent any, which are left out of their requests alone. */
const PUBLISHED = /^[a-z][a-z\d-]{1,60}-20\d\d-?\d\d-?\d\d$/;

type Teaching = { learned: Learned; catalog: Profile; by: string };

/** What of a profile later requests may rely on: of a list what is known, and as many other names as there is room for. */
const lastingOf = (
  profile: Profile,
  { learned: { profile: before, owners }, catalog, by }: Teaching,
): { profile: Profile; owners: Owners } => {
  const lasting: Profile = { ...profile };
  const owned: Owners = {};
  let left = MAX_NAMES_OF_ONE - Object.values(owners).filter((owner) => owner === by).length;
  for (const list of LISTS) {
    if (!profile[list]) continue;
    const known = new Set([...((before as Profile)[list] ?? []), ...(catalog[list] ?? [])]);
    // Of the keywords of schemas the router has the list.
    const isFree = (name: string) => known.has(name) || list === 'schemaWithout';
    const kept = [...new Set([...known, ...profile[list]])].filter((name, index) => {
      if (isFree(name)) return true;
      if (index >= MAX_NAMES || (list === 'betasWithout' && !PUBLISHED.test(name))) return false;
      left -= 1;
      return left >= 0;
    });
    lasting[list] = kept;
    for (const name of kept) {
      const owner = owners[name] ?? (isFree(name) ? undefined : by);
      if (owner !== undefined) owned[name] = owner;
    }
  }
  return { profile: lasting, owners: owned };
};

/** When each member was last tried, and when it was last looked whether one is due. */
type Tries = { at: Map<string, number>; lookedAt: number };

/** What the models of targets turned out to accept, shared by all environments. Nothing here throws. */
export const createLessons = (parts: { store: LessonStore; clock: Clock; log: Log }) => {
  const { store, clock, log } = parts;
  let lessons: Record<string, Lesson> = {};
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<unknown> | undefined;
  /**
   * The last form of each target, which holds until its lesson is another or a member of it ends: it has many members
   * to copy.
   */
  const adapted = new WeakMap<
    Target,
    { target: Target; lesson: Lesson | undefined; until: number }
  >();

  const triesOf = oncePer(new WeakMap<Target, Tries>(), () => ({
    at: new Map(),
    lookedAt: Number.NEGATIVE_INFINITY,
  }));

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

  const write = async (target: Target, { profile, ages, owners }: Learned) => {
    const key = keyOf(target);
    const lesson = {
      profile: JSON.stringify(profile),
      until: clock.now() + LIFE_MS,
      ages: JSON.stringify(ages),
      owners: JSON.stringify(owners),
    };
    lessons = { ...lessons, [key]: lesson };
    const written = await tryFor(clock, WRITE_TIMEOUT_MS, store.writeLesson(key, lesson));
    if (!written) log.warn('lessons_unwritable', { target: nameOf(target) });
  };

  /** Starts to read the lessons, concurrently with what a request awaits. */
  const prefetch = (): void => {
    if (clock.now() - readAt < FRESH_MS) return;
    readAt = clock.now();
    reading = withTimeout(clock, READ_TIMEOUT_MS, read());
  };

  return {
    prefetch,
    /** The target, its profile that of the catalog with what was learned about it. */
    adapt: async (original: Target): Promise<Target> => {
      prefetch();
      await reading;
      const lesson = lessons[keyOf(original)];
      const last = adapted.get(original);
      if (last && last.lesson === lesson && clock.now() < last.until) return last.target;
      const { profile, ages } = readLesson(lesson, clock.now());
      const target = withProfile(original, { ...catalogProfile(original), ...profile });
      adapted.set(original, { target, lesson, until: Math.min(...Object.values(ages)) });
      return target;
    },
    /** What the rejected request of a project taught. */
    learn: async (target: Target, learned: Profile, projectId = ''): Promise<void> => {
      const key = keyOf(target);
      const now = clock.now();
      const before = readLesson(lessons[key], now);
      await withTimeout(clock, READ_TIMEOUT_MS, read());
      const known = readLesson(lessons[key], now);
      const own = catalogProfile(target);
      const lasting = lastingOf(learned, { learned: known, catalog: own, by: projectId });
      const profile = {
        // What another environment learned since this one last read.
        ...difference(known.profile, before.profile),
        ...difference(lasting.profile, own),
      };
      // Only what this rejection showed is new: callers could keep the rest alive by inventing more.
      const ages = Object.entries(profile).map(([member, value]) => {
        const isKnown = isDeepStrictEqual(value, known.profile[member]);
        return [member, (isKnown ? known.ages[member] : undefined) ?? now + LIFE_MS];
      });
      await write(target, { profile, ages: Object.fromEntries(ages), owners: lasting.owners });
    },
    /**
     * The target without one of its learned members, for each that was not tried for an hour: what is never sent is never
     * rejected, and a provider that takes it again would not be noticed. Looked for once a minute.
     */
    trials: (original: Target): readonly Trial[] => {
      const { lesson, until = 0 } = adapted.get(original) ?? {};
      const now = clock.now();
      if (lesson === undefined || now >= until) return NO_TRIALS;
      const tries = triesOf(original);
      if (now - tries.lookedAt < MINUTE_MS) return NO_TRIALS;
      tries.lookedAt = now;
      const { profile, ages } = readLesson(lesson, now);
      const isDue = (member: string) => {
        // Responses show it, and sending the other one would lose thinking without a rejection.
        if (profile[member] === 'reasoning') return false;
        const learnedAt = (ages[member] ?? now) - LIFE_MS;
        return now - Math.max(learnedAt, tries.at.get(member) ?? 0) >= HOUR_MS;
      };
      return Object.keys(profile)
        .filter(isDue)
        .map((member) => {
          const { [member]: _, ...others } = profile;
          return {
            member,
            form: withProfile(original, { ...catalogProfile(original), ...others }),
          };
        });
    },
    /** The provider still rejects the member. */
    keep: (target: Target, member: string): void => {
      triesOf(target).at.set(member, clock.now());
    },
    /** The provider takes the member again. */
    forget: async (target: Target, member: string): Promise<void> => {
      const lesson = readLesson(lessons[keyOf(target)], clock.now());
      delete lesson.profile[member];
      delete lesson.ages[member];
      await write(target, lesson);
    },
  };
};
