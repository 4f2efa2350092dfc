import { type ApiError, invalidRequest } from '../support/errors.ts';

/** A conversation that says nothing, or nothing that the upstream at hand could be told. */
export const nothingSaid = (): ApiError =>
  invalidRequest('messages: at least one message with content is required.', { param: 'messages' });
