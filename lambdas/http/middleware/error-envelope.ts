import { toApiError } from '../../support/errors.ts';
import type { Log } from '../../support/log.ts';
import { describeFailure } from '../describe-failure.ts';
import type { Middleware } from '../stages.ts';

/** Sends any thrown value as an error in the envelope of the path's protocol; logs private causes. */
export const errorEnvelope = ({ log }: { log: Log }): Middleware => {
  const errorEnvelopeOnError: Middleware['onError'] = (request) => {
    const { protocol, requestId, awsRequestId, notes } = request.event;
    const error = toApiError(request.error);
    if (error.status >= 500) {
      const described = describeFailure(request.error);
      log.error('request_failed', { requestId, awsRequestId, ...described });
      notes.failure = described.failure;
    }
    // Assigned, not returned: a returned value would keep the outer middlewares from running.
    request.response = {
      status: error.status,
      headers: error.headers,
      body: protocol.encodeError(error, requestId),
    };
  };
  return { onError: errorEnvelopeOnError };
};
