/** A response that its project can read, continue and delete. Bodies are compressed with gzip, instants in ms. */
export type StoredResponse = {
  /** Ids of the responses before it in its conversation, the first one first. */
  before: string[];
  /** Its process is dead unless it moves this instant forward; undefined once the response has ended. */
  leaseUntil: number | undefined;
  /** When it ended, of one that ran in the background. */
  endedAt?: number | undefined;
  hasBegun: boolean;
  isBackground: boolean;
  /** Whether pieces of its stream are stored, as of one that streams in the background. */
  isStream: boolean;
  /** How many are stored, or about to be. */
  pieces: number;
  /** The items of its request, as JSON. */
  input: Uint8Array;
  /** The response, as JSON. */
  response: Uint8Array;
};

export type ResponseKey = { key: string; expiresAt: number };

/**
 * Stored responses, under keys that only their project can compute. Implemented by `createDynamoResponseStore`
 * (stores/dynamo/response-store.ts). @throws StoreUnavailable
 */
export type ResponseStore = {
  /** Replaces a response of the same key, as of a request that another process repeats; false if that was deleted. */
  create(key: ResponseKey, response: StoredResponse): Promise<boolean>;
  /** Undefined if there is none, or it is expired or deleted. */
  find(key: string, now: number): Promise<StoredResponse | undefined>;
  /** Moves the lease of a running response forward; false if it has ended or was deleted. */
  renew(key: string, lease: { leaseUntil: number; pieces: number }): Promise<boolean>;
  /**
   * Ends a running response; false if it has ended already or was deleted. With `deadAt` only if its lease is over
   * by then. `now`: when it ended.
   */
  end(
    key: ResponseKey,
    response: Uint8Array,
    options: { now: number; deadAt?: number },
  ): Promise<boolean>;
  /** Stores a piece that `renew` has announced, unless the response was deleted. */
  putPiece(key: ResponseKey, index: number, piece: Uint8Array): Promise<void>;
  /** Undefined if it is not stored yet. */
  findPiece(key: string, index: number): Promise<Uint8Array | undefined>;
  /** Removes all of a response, so that no later write brings it back; false if there is none. Safe to repeat. */
  remove(key: string): Promise<boolean>;
};
