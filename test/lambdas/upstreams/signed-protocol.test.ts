import { expect, test } from 'vitest';
import type { GenerationEvent } from '../../../lambdas/protocols/generation.ts';
import type { UpstreamProtocol } from '../../../lambdas/protocols/protocol.ts';
import { createHttpUpstream } from '../../../lambdas/upstreams/http-upstream.ts';
import { fixedSecrets } from '../../support/fixed-secrets.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { type MisbehavingServer, startMisbehaving } from '../../support/misbehaving-server.ts';
import { targetAt } from '../../support/models.ts';
import { signatureOf, signedProtocol } from '../../support/signed-protocol.ts';
import { requestOf } from '../../support/translate.ts';

const NOW = 1_700_000_000_000;

const call = async (server: MisbehavingServer, protocol: UpstreamProtocol = signedProtocol) => {
  const upstream = createHttpUpstream({
    clock: createManualClock(NOW),
    secrets: fixedSecrets('key'),
  });
  const batches = await upstream.open({
    request: requestOf('chat'),
    target: targetAt(`${server.url}/v2?region=x`, { model: 'tiny/1' }),
    protocol,
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
  'a third protocol names the model in its path, signs the request and reads %s',
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
    const signature = signatureOf({
      secret: 'key',
      url: new URL(request?.url ?? '', server.url),
      body: Buffer.from(JSON.stringify(request?.body)),
      now: NOW,
    });
    expect(request?.headers).toMatchObject({ 'x-signature': `${NOW}:${signature}` });
  },
);

test('a failed signature is a credential error, and no request is sent', async () => {
  const server = await startMisbehaving((response) => response.end());
  const headers = () => Promise.reject(new Error('the key is not a signing key'));
  const protocol = { ...signedProtocol, endpoint: () => ({ path: '/generate', headers }) };
  await expect(call(server, protocol)).rejects.toMatchObject({ kind: 'credential' });
  expect(server.seen).toEqual([]);
});

/** Complete lines of JSON; the last may lack its end. */
const createLineReader = () => {
  const decoder = new TextDecoder();
  let rest = '';
  return {
    push: (bytes: Uint8Array) => {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      return lines.map((data) => ({ data }));
    },
    end: () => (rest === '' ? [] : [{ data: rest }]),
  };
};

test('a protocol may stream in another form than Server-Sent Events, at a path with a query', async () => {
  const type = 'application/x-ndjson';
  const server = await startMisbehaving((response) => {
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` });
    response.write('{"text":"Größ');
    return response.end('e"}\n{"text":"!","end":true}');
  });
  const protocol: UpstreamProtocol = {
    ...signedProtocol,
    endpoint: (target, isStreamed) => ({
      ...signedProtocol.endpoint(target),
      path: `/${isStreamed ? 'stream' : 'whole'}?form=lines`,
    }),
    streaming: { contentType: type, createReader: createLineReader },
  };
  const events = await call(server, protocol);
  const text = events.map((event) => (event.type === 'block-delta' ? event.delta : '')).join('');
  expect(text).toBe('Größe!');
  const [request] = server.seen;
  expect(request?.url).toBe('/v2/stream?region=x&form=lines');
  expect(request?.headers.accept).toBe(`${type}, application/json`);
});
