/** What only a request needs whose target has another protocol, whose values a target rejects, or that asks for several choices: a separate file in the bundle. */
export { marksOf, withMarksFor } from './cache/fit-marks.ts';
export { decodeBorrowed } from './chat/borrowed-blocks.ts';
export { createSeveralChoices } from './chat/choices.ts';
export { isDefault, lossesBeyond, lostThinking } from './ledger/ledger.ts';
export { decodeAsText, spokenReference } from './messages/blocks-as-text.ts';
export { clientTool } from './messages/client-tools.ts';
export { closedFormat, formatInWords, isWithinStrict } from './messages/format-in-words.ts';
export { lostEdits, lostSettings, reminderEdits } from './messages/losses.ts';
export { messageAsEvents } from './messages/message-as-events.ts';
