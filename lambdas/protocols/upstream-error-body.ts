import { readOverflow, saysContextOverflow } from './context-overflow.ts';
import { refusedFields } from './refused-fields.ts';
import type { Overflow } from './upstream-error.ts';

/** The meanings that reach the caller, in words of our own. */
type Refusal =
  | { kind: 'context-overflow'; overflow: Overflow | undefined }
  /** `fields`: the parameters that it may be about. */
  | { kind: 'other'; fields: string[] };

/** What an upstream's 4xx body means. Its text goes no further than this. */
export const interpretErrorBody = (body: string): Refusal =>
  saysContextOverflow(body)
    ? { kind: 'context-overflow', overflow: readOverflow(body) }
    : { kind: 'other', fields: refusedFields(body) };
