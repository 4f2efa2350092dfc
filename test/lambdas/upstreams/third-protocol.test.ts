import { expect, test } from 'vitest';
import type { GenerationEvent } from '../../../lambdas/protocols/generation.ts';
import { createHttpUpstream } from '../../../lambdas/upstreams/http-upstream.ts';
import { fixedSecrets } from '../../support/fixed-secrets.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { type MisbehavingServer, startMisbehaving } from '../../support/misbehaving-server.ts';
import { targetAt } from '../../support/models.ts';
import { thirdProtocol } from '../../support/third-protocol.ts';
import { requestOf } from '../../support/translate.ts';

const call = async (server: MisbehavingServer) => {
  const upstream = createHttpUpstream({
    clock: createManualClock(0),
    secrets: fixedSecrets('key'),
  });
  const batches = await upstream.open({
    request: requestOf('chat'),
    target: targetAt(`${server.url}/v2?region=x`, { model: 'tiny/1' }),
    protocol: thirdProtocol,
    maxOutputTokens: 1000,
    limits: { characters: 1_000_000, messages: 10_000, overhead: 1_000_000 },
    signal: new AbortController().signal,
  });
  const events: GenerationEvent[] = [];
  for await (const batch of batches) events.push(...batch);
  return events;
};

const ANSWERS = {
  'text/event-stream': 'data: {"text":"Hel"}\n\ndata: {"text":"lo","end":true}\n\n',
  'application/json': '{"text":"Hello"}',
};

test.each(Object.entries(ANSWERS))(
  'a third protocol names the model in its path and its own credential, and reads %s',
  async (type, body) => {
    const server = await startMisbehaving((response) =>
      response.writeHead(200, { 'content-type': type }).end(body),
    );
    const events = await call(server);
    const text = events.map((event) => (event.type === 'block-delta' ? event.delta : '')).join('');
    expect(text).toBe('Hello');
    expect(events.at(-1)).toMatchObject({ type: 'finish', reason: { unified: 'stop' } });

    const [request] = server.seen;
    expect(request?.url).toBe('/v2/models/tiny%2F1/generate?region=x');
    expect(request?.headers).toMatchObject({ 'x-key': 'key' });
  },
);
