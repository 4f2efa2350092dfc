import { createServer, type IncomingMessage } from 'node:http';
import { text as textIn } from 'node:stream/consumers';
import { listen } from '../../local/loopback.ts';

/** Passes requests on to the router, and shows those of one path. */
export const startTap = (
  router: string,
  path: string,
  keep: (request: IncomingMessage, body: string) => void,
) =>
  listen(
    createServer(async (request, response) => {
      const body = await textIn(request);
      if (request.url?.startsWith(path) && request.method === 'POST') keep(request, body);
      const { host: _, 'content-length': __, ...headers } = request.headers;
      const answer = await fetch(`${router}${request.url}`, {
        method: request.method ?? 'GET',
        headers: headers as Record<string, string>,
        ...(body !== '' && { body }),
      });
      response.writeHead(answer.status, {
        'content-type': answer.headers.get('content-type') ?? '',
      });
      response.end(Buffer.from(await answer.arrayBuffer()));
    }),
  );
