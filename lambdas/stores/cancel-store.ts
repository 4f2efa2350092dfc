/**
 * Requests whose cancellation was requested, by project: the process that runs one removes it. Implemented by
 * `createDynamoCancelStore` (stores/dynamo/cancel-store.ts). @throws StoreUnavailable
 */
export type CancelStore = {
  /** False if it was requested before. */
  addCancel(projectId: string, requestId: string, now: number): Promise<boolean>;
  removeCancel(projectId: string, requestId: string): Promise<void>;
  /** Request ids. */
  listCancels(projectId: string): Promise<string[]>;
};
