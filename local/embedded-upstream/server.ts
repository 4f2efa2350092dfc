import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ProtocolName } from '../../lambdas/protocols/protocol.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import { toApiError } from '../../lambdas/support/errors.ts';
import { type RandomBytes, randomBase62 } from '../../lambdas/support/ids.ts';
import { listen } from '../loopback.ts';
import { acceptCall, openCall } from './accept-call.ts';
import { composeAnswer } from './compose-answer.ts';
import { giveAnswer } from './give-answer.ts';
import { createRecorder, type UpstreamControl } from './recorder.ts';
import { createExchange } from './response-writer.ts';
import { WIRES, type Wire, wireOf } from './wires.ts';

export type EmbeddedUpstreamOptions = {
  /** The credentials that are let in. */
  credentials: ReadonlySet<string>;
  /** Pause before every message, in milliseconds. */
  delayMs: number;
  clock: Clock;
  randomBytes: RandomBytes;
};

export type EmbeddedUpstream = {
  control: UpstreamControl;
  /** The base address that a target of this protocol has in a catalog. */
  baseUrl(protocol: ProtocolName): string;
  close(): Promise<void>;
};

/**
 * A provider on loopback that speaks every protocol over real HTTP, written with the router's own codecs:
 * what it decodes and encodes is what the router's callers and upstreams see.
 */
export const startEmbeddedUpstream = async ({
  credentials,
  delayMs,
  clock,
  randomBytes,
}: EmbeddedUpstreamOptions): Promise<EmbeddedUpstream> => {
  const recorder = createRecorder();
  const newId = () => randomBase62(24, randomBytes);

  const serve = async (wire: Wire, incoming: IncomingMessage, response: ServerResponse) => {
    const call = openCall(wire, incoming);
    recorder.record(call);
    response.once('close', () => {
      call.outcome = response.writableFinished ? 'answered' : 'abandoned';
    });
    const request = await acceptCall(wire, incoming, { call, credentials });
    const answer = composeAnswer({
      wire,
      request,
      injected: recorder.takeFault(call),
      newId,
      created: Math.floor(clock.now() / 1000),
      delayMs,
    });
    await giveAnswer(answer, createExchange(response));
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
    baseUrl: (protocol) => `${url}${WIRES[protocol].basePath}`,
    close,
  };
};
