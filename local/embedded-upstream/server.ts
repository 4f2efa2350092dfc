import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { UpstreamProtocolName } from '../../lambdas/protocols/protocol.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import { toApiError } from '../../lambdas/support/errors.ts';
import { type RandomBytes, randomBase62 } from '../../lambdas/support/ids.ts';
import { listen } from '../loopback.ts';
import { acceptCall, openCall } from './accept-call.ts';
import { planResponse } from './plan-response.ts';
import { createRecorder, type UpstreamControl } from './recorder.ts';
import { createResponseWriter } from './response-writer.ts';
import { sendResponse } from './send-response.ts';
import { basePathOf, type Wire, wireOf } from './wires.ts';

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
  /** The credentials that are accepted. */
  credentials: ReadonlySet<string>;
  /** Delay before every message, in milliseconds. */
  delayMs: number;
  /** The message of injected errors. */
  failureText?: string;
  clock: Clock;
  randomBytes: RandomBytes;
}): Promise<EmbeddedUpstream> => {
  const {
    credentials,
    delayMs,
    failureText = 'Injected failure of the embedded upstream.',
  } = parts;
  const { clock, randomBytes } = parts;
  const recorder = createRecorder();
  const newId = () => randomBase62(24, randomBytes);

  const serve = async (wire: Wire, incoming: IncomingMessage, response: ServerResponse) => {
    const call = openCall(wire, incoming);
    recorder.record(call);
    response.once('close', () => {
      call.outcome = response.writableFinished ? 'answered' : 'abandoned';
    });
    const request = await acceptCall(wire, incoming, { call, credentials });
    const planned = planResponse({
      wire,
      request,
      injected: recorder.takeFault(call),
      newId,
      created: Math.floor(clock.now() / 1000),
      delayMs,
      failureText,
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
