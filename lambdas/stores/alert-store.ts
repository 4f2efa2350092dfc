/** What distinguishes an alert from others. */
export type ClaimedAlert = {
  /** What it is about. */
  subject: string;
  state: 'firing' | 'resolved' | 'notice';
  id: string;
};

/** Implemented by `createDynamoAlertStore` (stores/dynamo/alert-store.ts). @throws StoreUnavailable */
export type AlertStore = {
  /**
   * Whether it is to be sent: it changes the state of its subject, or was claimed by the same id before and perhaps not sent.
   * What is resolved has fired.
   */
  claim(alert: ClaimedAlert, now: number): Promise<boolean>;
};
