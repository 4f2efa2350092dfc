import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { listen } from '../../../local/loopback.ts';
import type { Wire } from '../wires.ts';
import { WIRES } from '../wires.ts';
import { VENDORS } from './vendors.ts';
import type { Meant, WireForm } from './wire-response.ts';

/** The next answer: its meaning, its form, and the sizes in bytes of the pieces that are written. */
export type Script = {
  meant: Meant;
  form: WireForm;
  sizes: number[];
  /** Milliseconds between two pieces. */
  pauseMs?: number;
  /** The connection is reset after this share of the bytes. */
  breakAfter?: number;
};

/** An answer to every request, or to this one. */
type Scripted = Script | ((received: Received) => Script);

/** A request as it reached the upstream. */
export type Received = { wire: Wire; body: unknown; rejections: string[] };

const rejectionsOf = (wire: Wire, { url, headers }: IncomingMessage, body: Buffer) => {
  const vendor = VENDORS[wire];
  const told: string[] = [];
  if (vendor.path.exec(url ?? '')?.index !== 0) told.push(`path: ${url} is not ${vendor.path}`);
  if (!vendor.credential(headers)) told.push('headers: credential or version is missing');
  if (headers['content-type'] !== 'application/json') told.push('content-type: not JSON');
  // `fatal`: bytes that are not UTF-8 must not become U+FFFD in silence.
  const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  const parsed: unknown = JSON.parse(text);
  return { body: parsed, rejections: [...told, ...vendor.rejections(parsed)] };
};

const write = async (response: ServerResponse, bytes: Buffer, script: Script) => {
  const { sizes, pauseMs, breakAfter = 1 } = script;
  const end = bytes.length * breakAfter;
  for (let at = 0, turn = 0; at < end && !response.destroyed; turn += 1) {
    const size = sizes[Math.min(turn, sizes.length - 1)] ?? bytes.length;
    response.write(bytes.subarray(at, at + size));
    at += size;
    await (pauseMs === undefined ? setImmediate() : setTimeout(pauseMs));
  }
  if (breakAfter < 1) response.socket?.resetAndDestroy();
  else response.end();
};

/** An upstream that holds each request to its vendor's rules and answers as it is scripted. */
const startVendor = async (
  wire: Wire,
  next: (received: Received) => Script,
  received: Received[],
) => {
  const vendor = VENDORS[wire];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const seen = rejectionsOf(wire, request, await buffer(request));
    received.push({ wire, ...seen });
    if (seen.rejections.length > 0) {
      const message = seen.rejections.join('; ');
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify(vendor.error(message)));
      return;
    }
    const script = next({ wire, ...seen });
    const { meant, form } = script;
    const text = form.isWhole ? vendor.whole(meant, form) : vendor.streamed(meant, form);
    const type = form.isWhole ? 'application/json' : 'text/event-stream; charset=utf-8';
    response.writeHead(200, { 'content-type': type });
    await write(response, Buffer.from(text), script);
  };
  return listen(
    createServer((request, response) => {
      answer(request, response).catch((error: unknown) => {
        received.push({ wire, body: undefined, rejections: [String(error)] });
        response.destroy();
      });
    }),
  );
};

/** Servers on loopback, one for each vendor. */
export const startStrictUpstream = async () => {
  let script: Scripted | undefined;
  const next = (received: Received): Script => {
    if (!script) throw new Error('no answer is scripted');
    return typeof script === 'function' ? script(received) : script;
  };
  const log: Received[] = [];
  const servers = await Promise.all(WIRES.map((wire) => startVendor(wire, next, log)));
  const urls = Object.fromEntries(WIRES.map((wire, at) => [wire, servers[at]?.url]));
  return {
    urls: urls as Record<Wire, string>,
    script: (answer: Scripted) => {
      script = answer;
    },
    /** The requests since the last time. */
    take: (): Received[] => log.splice(0),
    close: async () => {
      await Promise.all(servers.map((one) => one.close()));
    },
  };
};

export type StrictUpstream = Awaited<ReturnType<typeof startStrictUpstream>>;
