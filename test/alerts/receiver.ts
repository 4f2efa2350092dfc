import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import OpenAI from 'openai';
import { onTestFinished } from 'vitest';
import * as z from 'zod';

export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

const Signed = z.strictObject({
  type: z.enum(['alert.firing', 'alert.resolved', 'alert.notice']),
  timestamp: z.iso.datetime(),
  data: z.strictObject({
    state: z.enum(['firing', 'resolved', 'notice']),
    subject: z.string().min(1),
    title: z.string().min(1),
    text: z.string().min(1),
    runbook: z.url().optional(),
  }),
});
/** By the official SDK of OpenAI, whose webhooks are signed by the same rules. @throws Error if the signature is not right */
export const verified = (
  body: string,
  headers: Record<string, string>,
  secret = SECRET,
): Promise<unknown> => new OpenAI({ apiKey: 'none' }).webhooks.unwrap(body, headers, secret);

const Slack = z.strictObject({ text: z.string().min(1) });
type Received = { id: string; title: string; state: string; runbook?: string | undefined };
type Trouble = (response: ServerResponse, request: IncomingMessage) => void;

/** A receiver that checks signatures. */
export const startReceiver = async () => {
  const received: Received[] = [];
  const messages: string[] = [];
  const faults: string[] = [];
  const requests: IncomingHttpHeaders[] = [];
  const bodies: string[] = [];
  let trouble: Trouble | undefined;
  const server = createServer(async (request, response) => {
    const body = await text(request);
    requests.push(request.headers);
    bodies.push(body);
    if (trouble) return trouble(response, request);
    try {
      if (request.url === '/slack') messages.push(Slack.parse(JSON.parse(body)).text);
      else {
        const id = String(request.headers['webhook-id']);
        const headers = request.headers as Record<string, string>;
        const { data } = Signed.parse(await verified(body, headers));
        received.push({ id, ...data });
      }
      response.writeHead(204).end();
    } catch (error) {
      faults.push(String(error));
      response.writeHead(400).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ received, messages, faults, requests, bodies },
    titles: () => received.map(({ title }) => title),
    answerWith: (next: Trouble | undefined) => {
      trouble = next;
    },
  };
};
