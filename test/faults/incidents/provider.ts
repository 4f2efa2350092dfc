import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { asArray, asRecord } from '../../../lambdas/protocols/bytes/json.ts';
import { answer, breakOff, status } from '../../support/fleet-upstream.ts';
import { chatWire } from '../../support/translate.ts';

/** What an incident does to a call; `slow` answers 5 s later, `hang` never. */
export const KINDS = [
  ...(['500', '502', '503', '529', '429', '429 for 20 s', '401', '402', '403', '404'] as const),
  ...(['reset', 'refused', 'hang', 'slow', 'cut', 'empty'] as const),
];
export type Kind = (typeof KINDS)[number];

const SLOW_MS = 5_000;

export type Call = { process: number; target: number; at: number; owner: string };

/** The rule of the provider: what it does with a call at this moment. Undefined answers it. */
export type Rule = (call: Call) => Kind | undefined;

const finish = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };

const ACTS: Partial<Record<Kind, (response: ServerResponse) => void>> = {
  '429 for 20 s': status(429, { 'retry-after': '20' }),
  reset: (response) => void response.socket?.resetAndDestroy(),
  cut: breakOff,
  empty: (response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(chatWire([finish])),
};

const ownerIn = (body: unknown): string =>
  String(asRecord(asArray(asRecord(body)?.messages).at(-1))?.content);

/** Providers on loopback, one a target, that keep a log of their own. */
export const startProviders = async (targets: number, now: () => number) => {
  const calls: Call[] = [];
  const held = new Set<{ response: ServerResponse; until: number }>();
  let rule: Rule = () => undefined;

  const hold = (response: ServerResponse, until: number) => {
    const entry = { response, until };
    held.add(entry);
    response.on('close', () => held.delete(entry));
  };

  const handle = async (target: number, request: IncomingMessage, response: ServerResponse) => {
    const owner = ownerIn(await json(request));
    const process = Number(/^\/p(\d+)\//.exec(request.url ?? '')?.[1]);
    const call = { process, target, at: now(), owner };
    calls.push(call);
    const kind = rule(call);
    if (kind === undefined) return answer(response);
    if (kind === 'hang') return hold(response, Number.POSITIVE_INFINITY);
    if (kind === 'slow') return hold(response, now() + SLOW_MS);
    (ACTS[kind] ?? status(Number(kind)))(response);
  };

  const start = async (target: number) => {
    const server = createServer((request, response) => {
      handle(target, request, response).catch(() => response.destroy());
    });
    server.keepAliveTimeout = 0;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const isListening = () => server.listening;
    return {
      url: `http://127.0.0.1:${port}`,
      /** Refuses connections, or accepts them again at the same address. */
      accept: async (isAccepting: boolean) => {
        if (isAccepting === isListening()) return;
        if (isAccepting) {
          server.listen(port, '127.0.0.1');
          await once(server, 'listening');
          return;
        }
        const closed = once(server, 'close');
        server.close();
        server.closeAllConnections();
        await closed;
      },
    };
  };

  const started = await Promise.all(Array.from({ length: targets }, (_, at) => start(at)));
  return {
    urls: started.map(({ url }) => url),
    calls,
    setRule: (next: Rule) => {
      rule = next;
    },
    accept: (target: number, isAccepting: boolean) => started[target]?.accept(isAccepting),
    /** Calls that wait for the clock. */
    heldCount: () => held.size,
    /** Answers what is due. */
    release: () => {
      for (const entry of held) {
        if (entry.until > now()) continue;
        held.delete(entry);
        answer(entry.response);
      }
    },
    close: () => Promise.all(started.map(({ accept }) => accept(false))),
  };
};
