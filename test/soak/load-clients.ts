import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { FAMILIES } from '../support/families.ts';
import { readStream, type StreamResult } from './load-stream.ts';

export type ClientsOrder = {
  url: string;
  key: string;
  streams: number;
  seconds: number;
  paceMs: number;
};
export type ClientsMessage = { result: StreamResult } | { done: true };

/** Words of one stream: between half a minute and a minute at an event a quarter of a second. */
const FEWEST = 100;
const MOST = 250;

const tell = (message: ClientsMessage) =>
  new Promise<void>((resolve) => {
    process.send?.(message, () => resolve());
  });

/** One caller: a stream after another until the time is over. The first ones begin spread out. */
const call = async ({ url, key, streams, seconds, paceMs }: ClientsOrder, number: number) => {
  const agent = new Agent({ keepAlive: true });
  const until = performance.now() + seconds * 1000;
  const family = FAMILIES[number % 2] ?? 'chat';
  const protocol = FAMILIES[Math.floor(number / 2) % 2] ?? 'chat';
  await sleep((number / streams) * Math.min(10_000, seconds * 200));
  do {
    const left = Math.max(0, until - performance.now()) / paceMs;
    // Of different lengths, so that they do not end and begin all at once.
    const words = Math.ceil(Math.min(left + 5, FEWEST + Math.random() * (MOST - FEWEST)));
    await tell({ result: await readStream({ url, key, agent, family, protocol, words }) });
  } while (performance.now() < until);
  agent.destroy();
};

const run = async (order: ClientsOrder) => {
  await Promise.all(Array.from({ length: order.streams }, (_, number) => call(order, number)));
  await tell({ done: true });
  process.disconnect();
};

process.once('message', (order: ClientsOrder) => void run(order));
process.once('disconnect', () => process.exit());
