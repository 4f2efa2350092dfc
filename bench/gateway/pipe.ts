/** D, the denominator: a proxy that parses nothing. Its argument is the upstream's URL. */
import { Agent, createServer, request as open } from 'node:http';
import { listen } from '../../local/loopback.ts';

const upstream = new URL(process.argv[2] ?? '');
const agent = new Agent({ keepAlive: true, maxSockets: 1024 });

const server = createServer({ noDelay: true }, (request, response) => {
  const headers = { ...request.headers, host: upstream.host, authorization: 'Bearer upstream' };
  const outgoing = open(upstream, { method: 'POST', headers, agent }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  response.once('close', () => {
    if (!response.writableFinished) outgoing.destroy();
  });
  outgoing.once('error', () => response.destroy());
  request.pipe(outgoing);
});
const { url } = await listen(server);
process.send?.({ url });
