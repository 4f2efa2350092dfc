import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import type { GenerationRequest } from '../../lambdas/protocols/generation.ts';
import { invalidRequest, unauthenticated } from '../../lambdas/support/errors.ts';
import type { RecordedCall } from './recorder.ts';
import type { Wire } from './wires.ts';

const CREDENTIALS = ['authorization', 'x-api-key'];

/** The call as it is recorded before anything of it is checked. */
export const openCall = (
  { protocol }: Wire,
  { url = '/', headers }: IncomingMessage,
): RecordedCall => {
  const shown = Object.entries(headers).filter(([name]) => !CREDENTIALS.includes(name));
  return {
    protocol: protocol.name,
    path: url,
    headers: Object.fromEntries(shown.map(([name, value]) => [name, String(value)])),
    body: undefined,
    model: '',
    outcome: 'open',
  };
};

/** @throws ApiError 400 */
const readJson = async (incoming: IncomingMessage): Promise<unknown> => {
  try {
    return await json(incoming);
  } catch (cause) {
    throw invalidRequest('The body is not JSON.', { cause });
  }
};

/** Checks and reads a call as a provider would. @throws ApiError for one that a provider refuses. */
export const acceptCall = async (
  wire: Wire,
  incoming: IncomingMessage,
  {
    call,
    credentials,
  }: {
    /** Completed with what the body says. */
    call: RecordedCall;
    credentials: ReadonlySet<string>;
  },
): Promise<GenerationRequest> => {
  const credential = wire.credential(incoming.headers);
  if (credential === undefined || !credentials.has(credential)) {
    throw unauthenticated('The embedded upstream does not know this credential.');
  }
  call.body = await readJson(incoming);
  const request = wire.protocol.decodeRequest(call.body);
  call.model = request.model;
  return request;
};
