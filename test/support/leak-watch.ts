import { subscribe } from 'node:diagnostics_channel';
import { ServerResponse } from 'node:http';
import { Server, Socket } from 'node:net';
import { constants, gunzipSync } from 'node:zlib';
import * as z from 'zod';
import { strayFields } from './log-fields.ts';

/** What must not be seen outside: planted wherever a test has the choice. */
export const CANARIES = {
  upstreamKey: 'canary-upstream-key',
  prompt: 'canary-prompt',
  upstreamText: 'canary',
  toldToFail: 'Injected failure',
};

/** A key of a caller, whosoever; and what a stack looks like, also inside JSON. */
const ALWAYS = [/mrk_live_[0-9A-Za-z]{30}/, /(?:\n|\\n)\s+at [^"\n]{3,}:\d+:\d+/];
/** Enough to find a leak; a leaking loop should not fill the memory. */
const MOST_LEAKS = 20;
/** As much of an answer as a secret may be cut by a write. */
const OVERLAP = 200;

const secrets = new Set<string>();
const watchedPorts = new Set<number>();
let leaks: string[] = [];

const add = (where: string, what: string) => {
  if (leaks.length < MOST_LEAKS) leaks.push(`${where}: ${what}`);
};

const search = (where: string, text: string) => {
  for (const secret of secrets) if (text.includes(secret)) add(where, secret);
  for (const pattern of ALWAYS) {
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) add(where, found);
  }
};

const Line = z.record(z.string(), z.unknown());

/** Looks at a line that a router wrote, of its log or of its metrics. */
export const watchLine = (line: string): void => {
  search('log', line);
  if (line.includes(CANARIES.upstreamText)) add('log', line);
  for (const field of strayFields(Line.parse(JSON.parse(line)))) add(`log field ${field}`, line);
};

/** Looks at an answer that came another way than over HTTP. */
export const watchAnswer = (text: string): void => search('answer', text);

/** Looks at all that a router answers at `url` from now on, until it is closed; `inside` must never be among it. */
export const watchAnswers = (url: string, inside: string[]): void => {
  for (const text of inside) secrets.add(text);
  watchedPorts.add(Number(new URL(url).port));
};

/** Ends the watch of the last file of tests: its hosts and ports may be others in the next one. */
export const restartWatch = (): void => {
  watchedPorts.clear();
  secrets.clear();
  secrets.add(process.cwd()).add(CANARIES.upstreamKey);
};

restartWatch();

/** What was found since the last time, which is to be nothing. */
export const takeLeaks = (): string[] => {
  const taken = leaks;
  leaks = [];
  return taken;
};

/** Connections over which keys are made: their answers show them, once. */
const admin = new WeakSet<Socket>();

const watchWrites = (socket: Socket) => {
  let last = '';
  const see = (chunk: unknown) => {
    if (admin.has(socket) || !(typeof chunk === 'string' || chunk instanceof Uint8Array)) return;
    const text = last + (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    search('answer', text);
    last = text.slice(-OVERLAP);
  };
  const seeing =
    <Parameters extends unknown[], Result>(method: (...parameters: Parameters) => Result) =>
    (...parameters: Parameters) => {
      see(parameters[0]);
      return method.apply(socket, parameters);
    };
  Object.assign(socket, { write: seeing(socket.write), end: seeing(socket.end) });
};

const OnServer = z.object({ server: z.instanceof(Server) });

// The system hands the port of a closed router out again, also to a server inside, which may answer secrets. This comes
// before the listener that would watch a new router there.
subscribe('tracing:net.server.listen:asyncEnd', (message) => {
  const address = OnServer.safeParse(message).data?.server.address();
  if (typeof address === 'object' && address) watchedPorts.delete(address.port);
});

const OnSocket = z.object({ socket: z.instanceof(Socket) });

const socketOf = (message: unknown): Socket | undefined => OnSocket.safeParse(message).data?.socket;

subscribe('net.server.socket', (message) => {
  const socket = socketOf(message);
  if (socket && watchedPorts.has(socket.localPort ?? 0)) watchWrites(socket);
});

/** Looks at what a compressed response said, once it has ended or was cut. */
const watchCompressed = (response: ServerResponse): void => {
  const pieces: Buffer[] = [];
  const { write } = response;
  response.write = (...parameters: unknown[]) => {
    const [chunk] = parameters;
    if (chunk instanceof Uint8Array) pieces.push(Buffer.from(chunk));
    return Reflect.apply(write, response, parameters);
  };
  const look = () => {
    const sent = Buffer.concat(pieces.splice(0));
    if (sent[0] !== 0x1f || sent[1] !== 0x8b) return;
    search('answer', gunzipSync(sent, { finishFlush: constants.Z_SYNC_FLUSH }).toString());
  };
  response.once('finish', look).once('close', look);
};

const WithResponse = z.object({ response: z.instanceof(ServerResponse) });

const ToAdmin = z.object({ request: z.object({ url: z.string().startsWith('/admin/') }) });

subscribe('http.server.request.start', (message) => {
  const socket = socketOf(message);
  if (!socket) return;
  if (ToAdmin.safeParse(message).success) {
    admin.add(socket);
    return;
  }
  admin.delete(socket);
  const { response } = WithResponse.safeParse(message).data ?? {};
  if (response && watchedPorts.has(socket.localPort ?? 0)) watchCompressed(response);
});
