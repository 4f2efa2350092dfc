import type { ServerResponse } from 'node:http';
import { type MisbehavingServer, startMisbehaving } from './misbehaving-server.ts';
import { chatWire } from './translate.ts';

const chunk = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});

const FIRST_WORD = chatWire([chunk({ role: 'assistant', content: 'Hello' })], '');
const REST = chatWire([chunk({}, 'stop')]);

export type Act = (response: ServerResponse) => void;

/** Begins an answer and leaves it open. */
export const begin: Act = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(FIRST_WORD);
};

/** Ends an answer that was begun. */
export const finish: Act = (response) => void response.end(REST);

export const answer: Act = (response) => {
  begin(response);
  finish(response);
};

export const status =
  (code: number, headers: Record<string, string> = {}): Act =>
  (response) =>
    void response.writeHead(code, headers).end('{"error":{"message":"canary"}}');

export const breakOff: Act = (response) => {
  begin(response);
  setImmediate(() => response.socket?.resetAndDestroy());
};

/** An upstream of the chat protocol that does what `act` says at the moment. */
export const startUpstream = async (
  act: Act,
): Promise<MisbehavingServer & { act: Act; readonly attempts: number }> => {
  const server = await startMisbehaving((response) => upstream.act(response));
  const upstream = {
    ...server,
    act,
    get attempts() {
      return server.seen.length;
    },
  };
  return upstream;
};
