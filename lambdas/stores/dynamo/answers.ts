/** A late part of the bundle: responses that repeats of a request get, and those that callers continue. */
export { createDynamoAnswerStore } from './answer-store.ts';
export { createDynamoResponseStore } from './response-store.ts';
