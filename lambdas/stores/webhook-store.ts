/** Where a project gets the events of its background responses. */
export type Webhook = {
  url: string;
  /** `whsec_` and the key of its signatures in base64. */
  secret: string;
  /** That of before, which signs as well until an instant (ms). */
  previous?: { secret: string; until: number };
  /** Milliseconds since the epoch. */
  setAt: number;
};

/** A response whose end is to be sent. */
export type OwedEvent = { projectId: string; responseId: string };

/** Implemented by `createDynamoWebhookStore` (stores/dynamo/webhook-store.ts). @throws StoreUnavailable */
export type WebhookStore = {
  find(projectId: string): Promise<Webhook | undefined>;
  /** Creates or replaces it. */
  put(projectId: string, webhook: Webhook): Promise<void>;
  remove(projectId: string): Promise<void>;
  /** Notes an event until `settle`, for two days at most. Both are safe to repeat. */
  owe(event: OwedEvent, now: number): Promise<void>;
  settle(event: OwedEvent): Promise<void>;
  /** Those of responses that began in the 25 hours before `now`; where no project has ever had an address, one read, and a look each hour for those of an earlier release. */
  listOwed(now: number): Promise<OwedEvent[]>;
};
