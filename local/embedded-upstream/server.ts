import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { GenerationRequest } from '../../lambdas/protocols/generation.ts';
import type { ProtocolName } from '../../lambdas/protocols/protocol.ts';
import type { Clock } from '../../lambdas/support/clock.ts';
import {
  ApiError,
  invalidRequest,
  toApiError,
  unauthenticated,
} from '../../lambdas/support/errors.ts';
import { type RandomBytes, randomBase62 } from '../../lambdas/support/ids.ts';
import { listen } from '../loopback.ts';
import type { Answer } from './answer.ts';
import { readDirectives } from './directives.ts';
import { createExchange } from './exchange.ts';
import { type Fault, faultOfModel, parseFault } from './faults.ts';
import { giveAnswer } from './give-answer.ts';
import { generate } from './model.ts';
import { readPrompt } from './prompt.ts';
import { createRecorder, type RecordedCall, type UpstreamControl } from './recorder.ts';
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

const CREDENTIALS = ['authorization', 'x-api-key'];

const withoutCredentials = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => !CREDENTIALS.includes(name))
      .map(([name, value]) => [name, String(value)]),
  );

/** @throws ApiError 400 */
const readJson = async (incoming: IncomingMessage): Promise<unknown> => {
  try {
    return await json(incoming);
  } catch (cause) {
    throw invalidRequest('The body is not JSON.', { cause });
  }
};

const faultOfPrompt = (request: GenerationRequest): Fault | undefined =>
  parseFault(readDirectives(readPrompt(request).text).fault ?? '');

/**
 * A provider on loopback that speaks every protocol over real HTTP, written with the router's own codecs:
 * what it decodes and encodes is what the router's callers and upstreams see.
 */
export const startEmbeddedUpstream = async (
  options: EmbeddedUpstreamOptions,
): Promise<EmbeddedUpstream> => {
  const recorder = createRecorder();
  const newId = () => randomBase62(24, options.randomBytes);

  /** @throws ApiError for a call that a provider refuses. */
  const accept = async (wire: Wire, incoming: IncomingMessage, call: RecordedCall) => {
    const credential = wire.credential(incoming.headers);
    if (credential === undefined || !options.credentials.has(credential)) {
      throw unauthenticated('The embedded upstream does not know this credential.');
    }
    call.body = await readJson(incoming);
    const request = wire.protocol.decodeRequest(call.body);
    call.model = request.model;
    return request;
  };

  const answerOf = (wire: Wire, request: GenerationRequest, call: RecordedCall): Answer => {
    const fault = recorder.takeFault(call) ?? faultOfModel(call.model) ?? faultOfPrompt(request);
    const generation = generate(request, {
      newCallId: () => `${wire.callIdPrefix}${newId()}`,
      sign: (thinking) =>
        wire.signsThinking ? Buffer.from(`signed ${thinking}`).toString('base64') : undefined,
    });
    const created = Math.floor(options.clock.now() / 1000);
    return {
      protocol: wire.protocol,
      request,
      generation: fault?.kind === 'blank' ? { ...generation, blocks: [] } : generation,
      label: {
        id: newId(),
        model: request.model,
        created,
        estimatedInputTokens: generation.usage?.inputTokens ?? 0,
      },
      fault,
      delayMs: fault?.kind === 'slow' ? fault.ms : options.delayMs,
    };
  };

  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    const path = incoming.url ?? '/';
    const wire = wireOf(incoming.method, path);
    if (!wire) return void response.writeHead(404).end();
    const { protocol } = wire;
    const headers = withoutCredentials(incoming);
    const call: RecordedCall = {
      protocol: protocol.name,
      path,
      headers,
      body: undefined,
      model: '',
      outcome: 'open',
    };
    response.once('close', () => {
      call.outcome = response.writableFinished ? 'answered' : 'abandoned';
    });
    recorder.record(call);
    try {
      const request = await accept(wire, incoming, call);
      await giveAnswer(answerOf(wire, request, call), createExchange(response));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      response.writeHead(error.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(protocol.encodeError(error, `req_${newId()}`)));
    }
  };

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      response.destroy(toApiError(error));
    });
  });
  const { url, close } = await listen(server);
  return {
    control: recorder.control,
    baseUrl: (protocol) => `${url}${WIRES[protocol].basePath}`,
    close,
  };
};
