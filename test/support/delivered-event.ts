import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { functionUrlEvent } from './function-url-event.ts';

/** Lambda's limit for an invocation's event, headers and escaping of the body included. */
const MAX_EVENT_BYTES = 6_291_456;

/** The event of a Function URL; undefined if Lambda would not deliver it. */
export const deliveredEvent = (
  ...request: Parameters<typeof functionUrlEvent>
): APIGatewayProxyEventV2 | undefined => {
  const event = functionUrlEvent(...request);
  return Buffer.byteLength(JSON.stringify(event)) <= MAX_EVENT_BYTES ? event : undefined;
};
