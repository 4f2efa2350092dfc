import { expect, test } from 'vitest';
import { startLab } from '../support/fleet-lab.ts';
import { type Act, answer } from '../support/fleet-upstream.ts';

/** Accepts an upgrade that the router did not ask for. */
const upgrade: Act = (response) =>
  void response.socket?.write(
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
  );

test.each([true, false])(
  'a 101 of the only target is a 502, uncharged, streamed: %s',
  async (stream) => {
    const { askFor, fleet, primary, clock } = await startLab([upgrade]);
    expect((await askFor({ stream })).status).toBe(502);
    expect(fleet.lines().find(({ event }) => event === 'request')).toMatchObject({
      fault: 'malformed',
    });
    expect(await fleet.charged()).toBe(0);
    await expect.poll(() => primary.sockets.size).toBe(0);
    await expect.poll(() => clock.waits()).toEqual([]);
  },
);

test.each([true, false])('after a 101 the second target answers, streamed: %s', async (stream) => {
  const { askFor, primary, second, fleet } = await startLab([upgrade, answer]);
  const sent = await askFor({ stream });
  expect(sent.status).toBe(200);
  expect(sent.text).toContain('Hello');
  expect([primary.attempts, second?.attempts]).toEqual([1, 1]);
  expect(await fleet.charged()).toBe(1);
});

test('a caller who disconnects during the 101 of the upstream leaves no socket, no timer and no charge', async () => {
  const beginUpgrade: Act = (response) =>
    void response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n');
  const { askAndLeave, fleet, primary, clock } = await startLab([beginUpgrade]);
  await askAndLeave();
  await expect.poll(() => primary.sockets.size).toBe(0);
  await expect.poll(() => clock.waits()).toEqual([]);
  expect(await fleet.charged()).toBe(0);
});

test.each(['Identity', ' IDENTITY ', 'none'])(
  'a response whose content-encoding is %j is read as one without an encoding',
  async (encoding) => {
    const act: Act = (response) => {
      response.setHeader('content-encoding', encoding);
      answer(response);
    };
    const { ask, fleet } = await startLab([act]);
    const { status, text } = await ask();
    expect(status).toBe(200);
    expect(text).toContain('Hello');
    expect(await fleet.charged()).toBe(1);
  },
);
