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
