/** Requests and histories that are written from the canonical form, not as they were received: a separate file in the bundle. */
export { moveStrings } from './bytes/move-strings.ts';
export { encodeRequest as encodeChatRequest } from './chat/encode-request.ts';
export { encodeTurns as encodeChatTurns } from './chat/encode-turns.ts';
export { encodeRequest as encodeMessagesRequest } from './messages/encode-request.ts';
export { encodeTurns as encodeMessagesTurns } from './messages/encode-turns.ts';
