import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../../local/loopback.ts';
import { helloAt } from './strict-upstream/vendors.ts';

/** A request as it reached the upstream. */
export type Generated = {
  url: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** The body as it was received. */
  text: string;
};

/** A vendor's 400 as the message of its error, or the body of another server's 422. */
export type Refusal = string | Record<string, unknown> | undefined;

/** A status that a server states in its body. */
const statusIn = ({ error }: Record<string, unknown>): number | undefined => {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'number' && code >= 400 ? code : undefined;
};

const reject = (response: ServerResponse, refusal: NonNullable<Refusal>) => {
  const [status, body] =
    typeof refusal === 'string'
      ? [400, { type: 'error', error: { type: 'invalid_request_error', message: refusal } }]
      : [statusIn(refusal) ?? 422, refusal];
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

/** A body with its media type, where it has one. */
export type Answered = { type: string | undefined; text: string };

const hello = ({ url }: Generated): Answered => ({
  type: 'text/event-stream',
  text: helloAt(url),
});

/** An upstream of every protocol that rejects what `refuse` finds, and answers, by default `Hello`. */
export const startGenerationUpstream = async (
  refuse: (request: Generated) => Refusal = () => undefined,
  answer: (request: Generated) => Answered = hello,
) => {
  const seen: Generated[] = [];
  const server = createServer(async (request, response) => {
    const { url = '', headers } = request;
    const text = (await buffer(request)).toString();
    const received = { url, headers, body: JSON.parse(text), text };
    seen.push(received);
    const refusal = refuse(received);
    if (refusal !== undefined) return reject(response, refusal);
    const answered = answer(received);
    const { type } = answered;
    return response.writeHead(200, type ? { 'content-type': type } : {}).end(answered.text);
  });
  const { url, close } = await listen(server);
  return {
    url,
    close,
    /** The requests since the last time. */
    take: (): Generated[] => seen.splice(0),
  };
};

export type GenerationUpstream = Awaited<ReturnType<typeof startGenerationUpstream>>;
