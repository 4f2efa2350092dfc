import type { ResponseMeta } from '../protocols/generation.ts';
import type { CheckedCall } from './check-call.ts';
import type { Fetched } from './fetch-answer.ts';
import type { Settlement } from './settlement.ts';

/** An answer on its way: what was asked, what it is called, where it comes from and what it costs. */
export type PendingAnswer = {
  checked: CheckedCall;
  label: ResponseMeta;
  fetched: Fetched;
  settlement: Settlement;
};
