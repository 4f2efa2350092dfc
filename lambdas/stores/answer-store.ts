/** What a request with the same key must have in common with the first one. */
export type Fingerprint = {
  route: string;
  model: string;
  /** SHA-256 of the body's bytes; the body itself is not stored. */
  body: string;
};

/** A response as it was sent: 200, and its text compressed with gzip. `isEmpty`: it has no content, and cost no unit. */
export type Answer = { isStream: boolean; isEmpty: boolean; body: Uint8Array };

/** The same from the store; `body` is undefined while its store is unavailable. */
export type KeptAnswer = Omit<Answer, 'body'> & { body: Uint8Array | undefined };

/** What is stored under the id of an idempotency key. */
export type AnswerEntry = {
  /** Id of the attempt that runs the request, or ran it. */
  owner: string;
  /** Id of the request's unit and of its response; a takeover keeps it. */
  requestId: string;
  fingerprint: Fingerprint;
  /** When the request first ran, in ms, as all instants here. */
  startedAt: number;
  /** The owner is dead unless it moves this instant forward. */
  leaseUntil: number;
  /** Undefined while the request runs. */
  answer: KeptAnswer | undefined;
};

/** Id and instant of the reservation: the same ones reserve the same unit. */
export type Unit = Pick<AnswerEntry, 'requestId' | 'startedAt'>;

/** Who runs the request of an idempotency key from `now` on. */
export type AnswerClaim = Omit<AnswerEntry, 'answer'> & { id: string; now: number };

/** `isOwned`: the claim succeeded, and the caller runs the request. Otherwise `entry` is another's. */
export type ClaimResult = { isOwned: true } | { isOwned: false; entry: AnswerEntry };

/**
 * The running and the finished requests of idempotency keys. Implemented by `createDynamoAnswerStore`
 * (stores/dynamo/answer-store.ts). @throws StoreUnavailable
 */
export type AnswerStore = {
  /** Makes `claim.owner` the owner unless the id has an entry. Idempotent. */
  claim(claim: AnswerClaim): Promise<ClaimResult>;
  /** The same, replacing any entry of the id. */
  replace(claim: AnswerClaim): Promise<void>;
  /** Replaces the dead owner of `entry`; false if it lives or another process was first. Idempotent. */
  takeOver(claim: AnswerClaim, dead: AnswerEntry): Promise<boolean>;
  /** Names another unit, after the dead owner's was settled; false if the owner was replaced. Idempotent. */
  reassign(id: string, owner: string, unit: Unit): Promise<boolean>;
  /** Undefined if the id has no entry. */
  find(id: string, now: number): Promise<AnswerEntry | undefined>;
  /** Moves the owner's lease forward; false if the owner was replaced. */
  renew(id: string, owner: string, leaseUntil: number): Promise<boolean>;
  /** Stores the response until `expiresAt`; false if the owner was replaced or the response is too large. */
  finish(id: string, owner: string, answer: Answer, expiresAt: number): Promise<boolean>;
  /** Deletes the entry of a request that failed, unless it has another owner. Idempotent. */
  release(id: string, owner: string, now: number): Promise<void>;
};

/**
 * Bodies above the size of a table's item. Implemented by `createBucketBodies` (stores/s3/body-store.ts).
 * @throws StoreUnavailable
 */
export type BodyStore = {
  /** `expiresAt` in ms, for a store without a lifecycle. */
  put(name: string, body: Uint8Array, expiresAt?: number): Promise<void>;
  /** Undefined if it was deleted. */
  get(name: string): Promise<Uint8Array | undefined>;
  /** Idempotent. */
  remove(name: string): Promise<void>;
};
