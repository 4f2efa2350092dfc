import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';

/** `text` is decoded; `headers` tell whether it was compressed. */
export type Sent = { status: number; headers: IncomingMessage['headers']; text: string };

type SendOptions = {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
};

/**
 * Sends a request whose path goes out exactly as written; fetch would tidy it. Resolves when its connection is closed,
 * after the whole body, which a response may precede: a server that is closed earlier would reset it.
 */
export const send = async (
  baseUrl: string,
  path: string,
  { method = 'GET', headers = {}, body }: SendOptions = {},
): Promise<Sent> => {
  const { hostname, port } = new URL(baseUrl);
  const sent = request({ hostname, port, path, method, headers, agent: false });
  sent.end(body);
  const [response]: [IncomingMessage] = (await once(sent, 'response')) as [IncomingMessage];
  const isGzip = response.headers['content-encoding'] === 'gzip';
  const content = isGzip ? response.pipe(createGunzip()) : response;
  const [received] = await Promise.all([text(content), once(sent, 'close')]);
  return { status: response.statusCode ?? 0, headers: response.headers, text: received };
};
