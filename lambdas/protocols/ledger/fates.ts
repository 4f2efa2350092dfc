import type { CallerProtocolName } from '../protocol-name.ts';
import { chat } from './fates/chat.ts';
import { messages } from './fates/messages.ts';
import { responses } from './fates/responses.ts';
import type { ObjectRow } from './fates/rows.ts';

/**
 * What becomes of each member of a caller's request on a target of another protocol. A member without a row, at any level,
 * is named in `x-router-dropped`. A row states what the encoders do, and tests hold the two to each other.
 */
export const FATES: Record<CallerProtocolName, ObjectRow> = { chat, messages, responses };
