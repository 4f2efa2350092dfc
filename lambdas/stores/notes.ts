/** The queue of a provider's quota as all processes share it; its text is that of routing/shares. */
export type StoredQueue = { text: string; version: number };

/** Implemented by `createDynamoShareStore` (stores/dynamo/share-store.ts). @throws StoreUnavailable */
export type ShareStore = {
  readQueue(name: string): Promise<StoredQueue | undefined>;
  /**
   * Writes what follows version `seen`, 0 for none; otherwise returns what another process has written. `by` is the name of
   * this write, by which a repeat of it is recognized.
   */
  writeQueue(
    name: string,
    next: { text: string; by: string },
    seen: number,
  ): Promise<{ isWritten: boolean; stored: StoredQueue | undefined }>;
};

/** Requests whose cancellation was requested, by project: the process that runs one removes it. */
export type CancelStore = {
  /** False if it was requested before. */
  addCancel(projectId: string, requestId: string, now: number): Promise<boolean>;
  removeCancel(projectId: string, requestId: string): Promise<void>;
  /** Request ids. */
  listCancels(projectId: string): Promise<string[]>;
};

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

export type LessonStore = {
  /** The lessons of all targets by their name, `protocol:upstream/model`. */
  readLessons(): Promise<Record<string, Lesson>>;
  writeLesson(target: string, lesson: Lesson): Promise<void>;
};

/**
 * What a provider has counted of prompts, as texts in places of their own: two environments that write at once replace one
 * receipt at most.
 */
export type ReceiptStore = {
  readReceipts(target: string): Promise<[place: number, receipt: string][]>;
  /** `until`: when all of the target may be deleted (ms). */
  writeReceipts(
    target: string,
    receipts: ReadonlyMap<number, string>,
    until: number,
  ): Promise<void>;
};

/** A share of a quota that a meter reached, in percent. */
export type Threshold = 50 | 80 | 100;

/** A changed quota has thresholds that were not reached before. */
export type ReachedThreshold = {
  meterId: string;
  /** Label of the meter's period. */
  period: string;
  quota: number;
  threshold: Threshold;
};

export type ThresholdStore = {
  /** Of all environments one gets `claimed`, and another a minute later if it was not marked by then. */
  claim(reached: ReachedThreshold, now: number): Promise<'claimed' | 'busy' | 'announced'>;
  /** Idempotent. */
  markAnnounced(reached: ReachedThreshold): Promise<void>;
};

/** A target's breaker, shared by all environments. Absent means closed. */
export type BreakerState = {
  /** Open until this instant (ms), then half-open: one probe at a time. 0 when closed. */
  openUntil: number;
  /** Consecutive openings; each one lasts longer. */
  openings: number;
  /** Incremented by each transition: of two environments that read the same state, one writes. */
  version: number;
};

export type BreakerStore = {
  readBreaker(target: string): Promise<BreakerState | undefined>;
  /** Writes the transition that follows version `seen`; false if another environment was first. */
  transitionBreaker(
    target: string,
    next: Omit<BreakerState, 'version'>,
    seen: number,
  ): Promise<boolean>;
  /** Acquires the only probe of a half-open breaker, until `until` (ms); false if another holds it. */
  takeProbe(target: string, now: number, until: number): Promise<boolean>;
};

/** Small values that environments share, and may lose. Implemented by `createDynamoNotes` (stores/dynamo/notes.ts). @throws StoreUnavailable */
export type Notes = {
  breakers: BreakerStore;
  cancels: CancelStore;
  /** What the models of targets turned out to accept. */
  lessons: LessonStore;
  /** What their providers have counted. */
  receipts: ReceiptStore;
  thresholds: ThresholdStore;
};
