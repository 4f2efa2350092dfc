/**
 * What a target's model turned out to accept: members of its profile, as JSON, and until when to trust any (ms); `ages`
 * has that of each member, and `owners` the project that taught a name of a list, as JSON.
 */
export type Lesson = {
  profile: string;
  until: number;
  ages?: string | undefined;
  owners?: string | undefined;
};

/** Implemented by `createDynamoLessonStore` (stores/dynamo/lesson-store.ts). @throws StoreUnavailable */
export type LessonStore = {
  /** The lessons of all targets by their name, `protocol:upstream/model`. */
  readLessons(): Promise<Record<string, Lesson>>;
  /** Replaces the target's lesson. */
  writeLesson(target: string, lesson: Lesson): Promise<void>;
};
