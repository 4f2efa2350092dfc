import type { ApiError, ErrorType } from '../../support/errors.ts';
import type { Json } from '../bytes/json.ts';

/** The vendor's text for an input that is too long; agents shorten their history when they find it. */
const OVERFLOW =
  'Your input exceeds the context window of this model. Please adjust your input and try again.';

/** Checks of the canonical form name fields as the other protocols do. */
const FIELDS = new Map([
  ['messages', 'input'],
  ['response_format', 'text.format'],
]);

/** The members that the vendor's error has in a body, an event and a failed response. */
export const errorFields = ({ type, message, param, code, overflow }: ApiError): Json => {
  const field = FIELDS.get(param ?? '');
  const hasPrefix = field !== undefined && message.startsWith(`${param}:`);
  const renamed = hasPrefix ? `${field}${message.slice(param?.length)}` : message;
  return {
    type,
    message: overflow ? `${renamed}. ${OVERFLOW}` : renamed,
    param: field ?? param ?? null,
    code: code ?? null,
  };
};

export const encodeError = (error: ApiError): Json => ({ error: errorFields(error) });

/** Codes of a failed response. Agents repeat the request after the first, not after the second. */
const FAILED: Partial<Record<ErrorType, string>> = {
  invalid_request_error: 'invalid_prompt',
  rate_limit_error: 'rate_limit_exceeded',
};

/** `error` of a response that failed in mid-stream. */
export const failureOf = (error: ApiError): Json => {
  const { message, code } = errorFields(error);
  return { code: code ?? FAILED[error.type] ?? 'server_error', message };
};
