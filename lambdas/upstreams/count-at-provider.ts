import type { Target } from '../catalog/catalog.ts';
import { createConnectionPools } from '../http-client/connections.ts';
import { asRecord, type JsonSource } from '../protocols/bytes/json.ts';
import { remove, splice } from '../protocols/bytes/splice.ts';
import type { GenerationRequest } from '../protocols/generation.ts';
import {
  credentialOf,
  type UpstreamProtocol,
  type WireTarget,
  wireTargetOf,
} from '../protocols/protocol.ts';
import type { Bytes } from '../support/bytes.ts';
import type { Clock } from '../support/clock.ts';
import { post } from './post.ts';
import { CONNECT_MS, readShortBody } from './response-body.ts';
import type { UpstreamSecrets } from './secrets.ts';
import { urlOf } from './send.ts';

export type CountCall = {
  target: Target;
  protocol: UpstreamProtocol;
  request: GenerationRequest;
  /** The caller's body, of which the provider gets what it counts. */
  source: JsonSource;
};

/** The body with the edits of what is counted; undefined for a body of another protocol. */
const bodyOf = (call: CountCall, target: WireTarget): Bytes | undefined => {
  const { request, source } = call;
  const { editsOf, counter } = call.protocol;
  const received = asRecord(source.value);
  const edits = received && editsOf?.(request, target, received);
  if (!received || !edits || !counter) return undefined;
  const isCounted = (name: unknown) => counter.members.some((member) => member === name);
  const others = Object.keys(received).filter((name) => !isCounted(name));
  const ofCounted = edits.filter(({ path: [name] }) => isCounted(name));
  return splice(source, [...ofCounted, ...others.map((name) => remove([name]))]);
};

/**
 * Asks the provider of a target how many tokens a prompt has. Never throws: undefined if its protocol has no
 * counter, if the role calls it, or without a count within the deadline.
 */
export type CountAtProvider = (call: CountCall) => Promise<number | undefined>;

/** An agent waits for the count before it continues; the estimate is there at once. */
const DEADLINE_MS = 800;

type Parts = { secrets: UpstreamSecrets; clock: Clock };

export const createCountAtProvider = ({ secrets, clock }: Parts): CountAtProvider => {
  const connectionsTo = createConnectionPools({ clock, connectMs: CONNECT_MS });

  const ask = async (call: CountCall, signal: AbortSignal) => {
    const { target, protocol, request } = call;
    const { counter } = protocol;
    const wireTarget = wireTargetOf(target, request.maxTokens ?? 1);
    const body = bodyOf(call, wireTarget);
    if (counter === undefined || target.secret === undefined || !body) return undefined;
    const url = urlOf(target.baseUrl, counter.path);
    const { value: secret } = await secrets.get(target.secret, signal);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'model-router',
      ...credentialOf(protocol, target, secret),
      ...(protocol.headers?.(request, wireTarget) ?? target.headers),
    };
    const sent = post({ url, headers, body, connections: connectionsTo(url), clock, signal });
    try {
      const response = await sent.response;
      if (response.status !== 200) return undefined;
      const count = counter.decodeResponse(JSON.parse(await readShortBody(response.chunks, clock)));
      sent.complete();
      return count;
    } finally {
      sent.close();
    }
  };

  return async (call) => {
    const deadline = new AbortController();
    const cancel = clock.after(DEADLINE_MS, () => deadline.abort());
    try {
      return await ask(call, deadline.signal);
    } catch {
      return undefined;
    } finally {
      cancel();
    }
  };
};
