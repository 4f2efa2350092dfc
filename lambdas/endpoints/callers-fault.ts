import { asRecord } from '../protocols/json.ts';
import { UpstreamError } from '../protocols/upstream-error.ts';
import { ApiError, invalidRequest } from '../support/errors.ts';

/**
 * A refusal that names a parameter which the caller sent is the caller's to hear, e.g. a temperature that the
 * model does not take; any other failure stays what it is. The upstream's text is not told.
 */
export const asCallersFault = (error: unknown, body: unknown): unknown => {
  const fault = error instanceof ApiError ? error.cause : undefined;
  if (!(fault instanceof UpstreamError)) return error;
  const said = asRecord(body) ?? {};
  const param = fault.refusedFields.find(
    (name) => Object.hasOwn(said, name) && said[name] !== null,
  );
  return param === undefined
    ? error
    : invalidRequest(`${param}: the provider of the model does not accept this value.`, {
        param,
        cause: fault,
      });
};
