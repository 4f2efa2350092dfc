import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { UpstreamProtocolName } from '../../lambdas/protocols/protocol.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import { invalidRequest, toApiError, unauthenticated } from '../../lambdas/support/errors.ts';
import { type RandomBytes, randomBase62 } from '../../lambdas/support/ids.ts';
import { listen } from '../loopback.ts';
import { createRecorder, type RecordedCall, type UpstreamControl } from './recorder.ts';
import { createResponseWriter } from './response-writer.ts';
import { planResponse, sendResponse } from './send-response.ts';
import { basePathOf, membersIn, type Wire, wireOf } from './wires.ts';

const CREDENTIALS = ['authorization', 'x-api-key', 'x-goog-api-key'];

/** Records a call before its content is checked. */
const openCall = ({ protocol }: Wire, { url = '/', headers }: IncomingMessage): RecordedCall => {
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
const readJson = (incoming: IncomingMessage): Promise<unknown> =>
  json(incoming).catch((cause: unknown) => {
    throw invalidRequest('The body must be JSON.', { cause });
  });

export type EmbeddedUpstream = {
  control: UpstreamControl;
  /** The base address of a catalog target with this protocol. */
  baseUrl(protocol: UpstreamProtocolName): string;
  close(): Promise<void>;
};

/**
 * Starts a provider on loopback that speaks every protocol over real HTTP. It uses the router's codecs
 * in reverse: it decodes what the router sends upstream and encodes what the router receives.
 */
export const startEmbeddedUpstream = async (parts: {
  credentials: ReadonlySet<string>;
  /** Delay before every message, in milliseconds. */
  delayMs: number;
  /** The message of injected errors. */
  failureText?: string;
  clock: Clock;
  randomBytes: RandomBytes;
}): Promise<EmbeddedUpstream> => {
  const { credentials, clock, randomBytes } = parts;
  const recorder = createRecorder();
  const newId = () => randomBase62(24, randomBytes);

  /** Checks and decodes a call as a provider would, and responds. @throws ApiError 400 or 401 */
  const serve = async (wire: Wire, incoming: IncomingMessage, response: ServerResponse) => {
    const call = openCall(wire, incoming);
    recorder.record(call);
    response.once('close', () => {
      call.outcome = response.writableFinished ? 'answered' : 'abandoned';
    });
    const credential = wire.credential(incoming.headers);
    if (credential === undefined || !credentials.has(credential)) {
      throw unauthenticated('Unknown credential of the embedded upstream.');
    }
    call.body = await readJson(incoming);
    const inPath = membersIn(wire, call.path);
    const request = wire.protocol.decodeRequest({ ...(call.body as object), ...inPath });
    call.model = request.model;
    const created = Math.floor(clock.now() / 1000);
    const planned = planResponse(wire, request, {
      ...{ ...parts, newId, created },
      injected: recorder.takeFault(call),
    });
    await sendResponse(planned, createResponseWriter(response));
  };

  const fail = ({ protocol }: Wire, error: unknown, response: ServerResponse) => {
    if (response.headersSent) return response.destroy();
    const failure = toApiError(error);
    return response
      .writeHead(failure.status, { 'content-type': 'application/json' })
      .end(JSON.stringify(protocol.encodeError(failure, `req_${newId()}`)));
  };

  const server = createServer((incoming, response) => {
    const wire = wireOf(incoming.method, incoming.url ?? '/');
    if (!wire) return response.writeHead(404).end();
    return serve(wire, incoming, response).catch((error: unknown) => fail(wire, error, response));
  });
  const { url, close } = await listen(server);
  return {
    control: recorder.control,
    baseUrl: (protocol) => `${url}${basePathOf(protocol)}`,
    close,
  };
};
