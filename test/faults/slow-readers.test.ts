import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  CALLER_PROTOCOLS,
  type CallerProtocolName,
} from '../../lambdas/protocols/protocol-name.ts';
import { startLab } from '../support/fleet-lab.ts';
import type { Act } from '../support/fleet-upstream.ts';
import { openSocketsAt } from '../support/open-sockets.ts';
import { connectTo, postBytes } from '../support/raw-client.ts';
import { conversationOf, PATHS } from '../support/request-forms.ts';
import { chatWire } from '../support/translate.ts';

const WORDS = chatWire([
  { choices: [{ index: 0, delta: { content: 'x'.repeat(16_000) }, finish_reason: null }] },
]).replace('data: [DONE]\n\n', '');

/** Says words without end, as fast as they are taken. */
const talkForever: Act = (response) => {
  const more = () => {
    while (!response.destroyed && response.write(WORDS));
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' }).on('drain', more);
  more();
};

/** What the kernel may hold of two connections, each with 4 MB to send and 6 MB received, and some more. */
const MOST_BYTES = 32_000_000;

/** The router cuts a response at 16 characters a token: far beyond `MOST_BYTES`. */
const MOST_TOKENS = 10_000_000;

/** A client that reads the beginning of an endless answer and then no more. */
const startSleeper = async (family: CallerProtocolName, slowClients = {}) => {
  const model = { max_output_tokens: MOST_TOKENS };
  const lab = await startLab([talkForever], { model, slowClients });
  const { fleet, primary } = lab;
  const url = fleet.urls[0] ?? '';
  const client = await connectTo(url);
  const body = {
    ...{ model: 'vendor/model', stream: true },
    ...conversationOf(family, [{ role: 'user', content: 'canary-prompt' }], MOST_TOKENS),
  };
  client.socket.write(postBytes(PATHS[family], fleet.key, body));
  await client.has('xxx');
  client.socket.pause();
  const sentByUpstream = () =>
    [...primary.sockets].reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
  /** Resolves when the upstream sends no more, or more than it could if anybody held it back. */
  const untilHeldBack = async () => {
    let [before, same] = [-1, 0];
    while (same < 10 && sentByUpstream() <= MOST_BYTES) {
      await sleep(20);
      same = sentByUpstream() === before ? same + 1 : 0;
      before = sentByUpstream();
    }
  };
  return { ...lab, url, client, sentByUpstream, untilHeldBack };
};

describe.each(CALLER_PROTOCOLS)('a client of %s that stops reading', (family) => {
  test('a client that stops reading pauses the upstream until it reads again', async () => {
    const { client, primary, fleet, clock, untilHeldBack, sentByUpstream } =
      await startSleeper(family);
    await untilHeldBack();
    const held = sentByUpstream();
    expect(held).toBeLessThan(MOST_BYTES);
    client.socket.resume();
    await expect.poll(sentByUpstream).toBeGreaterThan(2 * held);
    client.socket.destroy();
    await expect.poll(() => primary.sockets.size).toBe(0);
    await expect.poll(() => clock.waits()).toEqual([]);
    expect(await fleet.charged()).toBe(1);
  });

  test('a client that stops reading is disconnected, and its upstream call ends', async () => {
    const { url, client, primary, fleet, clock, count } = await startSleeper(family, {
      readTimeout: 300,
    });
    await expect.poll(() => openSocketsAt(url)).toEqual([]);
    await expect.poll(() => primary.sockets.size).toBe(0);
    await expect.poll(() => count('request')).toBe(1);
    expect(fleet.lines()).toContainEqual(
      expect.objectContaining({ event: 'request', status: 200, outcome: 'abandoned' }),
    );
    await expect.poll(() => clock.waits()).toEqual([]);
    expect(await fleet.charged()).toBe(1);
    client.socket.destroy();
  });
});
