import { constants, createGunzip } from 'node:zlib';
import {
  createConnectionPools,
  type HttpConnections,
  type HttpRequest,
} from '../../lambdas/http-client/connections.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { SESSION_MARK } from './agent-bodies.ts';
import type { Case } from './cases.ts';

export type Target = {
  url: string;
  headers: Record<string, string>;
  /** What stands before a model's id, e.g. `provider,`. */
  modelPrefix?: string;
};

/** The end of a complete response on each protocol, streamed or whole. */
const COMPLETE =
  /\[DONE\]|message_stop|"finish_reason":"stop"|"stop_reason":"end_turn"|"status":"completed"|"finishReason":"STOP"/;
/** Characters at the end of a response that hold its last events. */
const TAIL = 2_000;

const FIRST_TEXT = 'word0';

const connectionsTo = createConnectionPools({ clock: systemClock, connectMs: 3_000 });

/** Sends a request, and resolves at the end of its response. */
const sendOnce = (pool: HttpConnections, request: HttpRequest) =>
  new Promise<{ firstTextMs: number }>((resolve, reject) => {
    const startedAt = performance.now();
    let firstTextMs = 0;
    let status = 0;
    let tail = '';
    const look = (bytes: Buffer) => {
      tail = (tail + bytes.toString('latin1')).slice(-TAIL);
      if (firstTextMs === 0 && tail.includes(FIRST_TEXT)) {
        firstTextMs = performance.now() - startedAt;
      }
    };
    const finish = () => {
      if (status === 200 && COMPLETE.test(tail)) resolve({ firstTextMs });
      else reject(new Error(`${request.headers.host}: ${status} ${tail.slice(-300)}`));
    };
    let decoder: ReturnType<typeof createGunzip> | undefined;
    pool.send(request, {
      onConnect: () => {},
      onHead: (response) => {
        status = response.status;
        if (response.headers['content-encoding'] !== 'gzip') return;
        decoder = createGunzip({ flush: constants.Z_SYNC_FLUSH });
        decoder.on('data', look).on('end', finish).on('error', reject);
      },
      onData: (bytes) => {
        if (decoder) decoder.write(bytes);
        else look(bytes);
      },
      onEnd: () => {
        if (decoder) decoder.end();
        else finish();
      },
      onError: reject,
    });
  });

/** What was sent of one case to each address: how many requests, and the bodies of each connection's steps. */
let sent = { name: '', counts: new Map<string, number>(), bodies: new Map<string, Buffer>() };

/** The body of the next request: each connection has a session after the other, all with another first message. */
const nextBody = ({ url, modelPrefix = '' }: Target, current: Case): Buffer => {
  const { name, model, connections } = current;
  const { steps, bodyOf } = current.session ?? { steps: 1, bodyOf: () => current.body };
  if (sent.name !== name) sent = { name, counts: new Map(), bodies: new Map() };
  const count = sent.counts.get(url) ?? 0;
  sent.counts.set(url, count + 1);
  const [round, connection] = [Math.floor(count / connections), count % connections];
  const key = `${url} ${connection} ${round % steps}`;
  const written = () => Buffer.from(bodyOf(round % steps).replace(model, modelPrefix + model));
  const body = sent.bodies.get(key) ?? written();
  sent.bodies.set(key, body);
  const session = Math.floor(round / steps) * connections + connection;
  const number = String(session).padStart(8, '0');
  for (let place = body.indexOf(SESSION_MARK); place >= 0; ) {
    body.write(number, place + SESSION_MARK.length);
    place = body.indexOf(SESSION_MARK, place + number.length);
  }
  return body;
};

/** Sends a case's requests in a closed loop on kept connections. @throws Error at the first wrong response */
export const load = async (target: Target, current: Case): Promise<{ firstTextMs: number[] }> => {
  const origin = new URL(target.url);
  const pool = connectionsTo(origin);
  const fields = {
    ...{ host: origin.host, 'content-type': 'application/json', ...target.headers },
    ...(current.acceptsGzip && { 'accept-encoding': 'gzip' }),
  };
  const next = (): HttpRequest => {
    const body = nextBody(target, current);
    const headers = { ...fields, 'content-length': String(body.byteLength) };
    return { method: 'POST', path: current.path, headers, body };
  };
  const firstTextMs: number[] = [];
  let left = current.requests;
  const work = async () => {
    while (left > 0) {
      left -= 1;
      firstTextMs.push((await sendOnce(pool, next())).firstTextMs);
    }
  };
  await Promise.all(Array.from({ length: current.connections }, work));
  return { firstTextMs };
};
