import { connect } from 'node:net';
import { type Connection, createConnection } from '../../lambdas/http-client/connection.ts';
import type { Case } from './cases.ts';

export type Target = {
  url: string;
  headers: Record<string, string>;
  /** What stands before a model's id, e.g. `provider,`. */
  modelPrefix?: string;
};

/** The end of a complete response on each protocol, streamed or whole. */
const COMPLETE = /\[DONE\]|message_stop|"finish_reason":"stop"|"stop_reason":"end_turn"/;
/** Characters at the end of a response that hold its last events. */
const TAIL = 2_000;

const FIRST_TEXT = 'word0';

type Prepared = { head: string; body: string };

/** Sends a request, and resolves at the end of its response. */
const sendOnce = (connection: Connection, { head, body }: Prepared) =>
  new Promise<{ firstTextMs: number }>((resolve, reject) => {
    const startedAt = performance.now();
    let firstTextMs = 0;
    let status = 0;
    let tail = '';
    connection.send(head, body, {
      onConnect: () => {},
      onHead: (response) => {
        status = response.status;
      },
      onData: (bytes) => {
        tail = (tail + bytes.toString('latin1')).slice(-TAIL);
        if (firstTextMs === 0 && tail.includes(FIRST_TEXT)) {
          firstTextMs = performance.now() - startedAt;
        }
      },
      onEnd: () => {
        if (status === 200 && COMPLETE.test(tail)) resolve({ firstTextMs });
        else reject(new Error(`${status} ${tail.slice(-300)}`));
      },
      onError: reject,
    });
  });

/** Connections that no request uses, by the target's URL. */
const idle = new Map<string, Connection[]>();

const idleOf = (url: string): Connection[] => {
  const connections = idle.get(url) ?? [];
  idle.set(url, connections);
  return connections;
};

const open = (url: string): Connection => {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  return createConnection(socket, 'connect', {
    ...{ onIdle: () => {}, onClose: () => {}, onRefused: () => {} },
  });
};

/** Sends a case's requests in a closed loop on kept connections. @throws Error at the first wrong response */
export const load = async (
  { url, headers, modelPrefix = '' }: Target,
  { path, model, connections, requests, ...current }: Case,
): Promise<{ firstTextMs: number[] }> => {
  const body = current.body.replace(model, modelPrefix + model);
  const fields = {
    ...{ host: new URL(url).host, 'content-type': 'application/json' },
    ...{ 'content-length': String(Buffer.byteLength(body)), ...headers },
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
  const firstTextMs: number[] = [];
  let left = requests;
  const work = async () => {
    const known = idleOf(url).pop();
    const connection = known?.isOpen() ? known : open(url);
    while (left > 0) {
      left -= 1;
      firstTextMs.push((await sendOnce(connection, { head, body })).firstTextMs);
    }
    idleOf(url).push(connection);
  };
  await Promise.all(Array.from({ length: connections }, work));
  return { firstTextMs };
};
