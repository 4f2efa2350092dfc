import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import type { GenerationRequest } from '../../lambdas/protocols/generation.ts';
import { invalidRequest, unauthenticated } from '../../lambdas/support/errors.ts';
import type { RecordedCall } from './recorder.ts';
import { membersIn, type Wire } from './wires.ts';

const CREDENTIALS = ['authorization', 'x-api-key', 'x-goog-api-key'];

/** Records a call before its content is checked. */
export const openCall = (
  { protocol }: Wire,
  { url = '/', headers }: IncomingMessage,
): RecordedCall => {
  const recorded = Object.entries(headers).filter(([name]) => !CREDENTIALS.includes(name));
  return {
    protocol: protocol.name,
    path: url,
    headers: Object.fromEntries(recorded.map(([name, value]) => [name, String(value)])),
    body: undefined,
    model: '',
    outcome: 'open',
  };
};

/** @throws ApiError 400 if the body is not JSON */
const readJson = async (incoming: IncomingMessage): Promise<unknown> => {
  try {
    return await json(incoming);
  } catch (cause) {
    throw invalidRequest('The body must be JSON.', { cause });
  }
};

/**
 * Checks and decodes a call as a provider would.
 * @throws ApiError 401 for an unknown credential, 400 for an invalid body
 */
export const acceptCall = async (
  wire: Wire,
  incoming: IncomingMessage,
  {
    call,
    credentials,
  }: {
    /** Gets the body and its model. */
    call: RecordedCall;
    credentials: ReadonlySet<string>;
  },
): Promise<GenerationRequest> => {
  const credential = wire.credential(incoming.headers);
  if (credential === undefined || !credentials.has(credential)) {
    throw unauthenticated('Unknown credential of the embedded upstream.');
  }
  call.body = await readJson(incoming);
  const inPath = membersIn(wire, call.path);
  const request = wire.protocol.decodeRequest({ ...(call.body as object), ...inPath });
  call.model = request.model;
  return request;
};
