/**
 * What a provider has counted of prompts, as texts in places of their own: two environments that write at once replace one
 * receipt at most. Implemented by `createDynamoReceiptStore` (stores/dynamo/receipt-store.ts). @throws StoreUnavailable
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
