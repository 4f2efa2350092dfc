import { createServer, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../../local/loopback.ts';

/** One call that the provider answers with text that no other call gets. */
export type HeldCall = {
  headers: Record<string, string | string[] | undefined>;
  /** Sends the first word of the response. */
  begin(): void;
  /** Sends another word. */
  proceed(): void;
  /** Sends the rest, and `begin` before it if needed. */
  finish(): void;
  /** Sends an error event instead of the rest. */
  fail(): void;
  /** Answers with this status and no response. */
  refuse(status: number): void;
  isClosed(): boolean;
};

const event = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

const USAGE = `data: ${JSON.stringify({
  choices: [],
  usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
})}\n\n`;

const openCall = (
  response: ServerResponse,
  number: number,
  {
    headers,
    filler,
    isEmpty,
  }: Pick<HeldCall, 'headers'> & { filler: () => string; isEmpty: () => boolean },
): HeldCall => {
  const begin = () => {
    if (response.headersSent) return;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const content = isEmpty() ? '' : `Answer ${number}:`;
    response.write(event({ role: 'assistant', content }));
  };
  return {
    headers,
    begin,
    proceed: () => void response.write(event({ content: ' more' })),
    finish: () => {
      begin();
      if (filler() !== '') response.write(event({ content: filler() }));
      for (const word of isEmpty() ? [] : [' näive', ' 𝄞', ' words', ' only'])
        response.write(event({ content: word }));
      response.write(event({}, 'stop'));
      response.end(`${USAGE}data: [DONE]\n\n`);
    },
    fail: () => {
      begin();
      response.end('data: {"error":{"message":"broken"}}\n\n');
    },
    refuse: (status) => void response.writeHead(status).end(),
    isClosed: () => response.closed,
  };
};

/**
 * A provider of the chat protocol. Each call waits for the test unless `isQuick`; `filler` is a part of each
 * response, the next `refusesNext` calls get a 500, and a response that is `isEmpty` ends without content.
 */
export const startHeldUpstream = async () => {
  const calls: HeldCall[] = [];
  const state = { isQuick: true, filler: '', refusesNext: 0, isEmpty: false };
  const server = createServer((request, response) => {
    buffer(request).then(
      () => {
        const call = openCall(response, calls.length + 1, {
          headers: request.headers,
          filler: () => state.filler,
          isEmpty: () => state.isEmpty,
        });
        calls.push(call);
        if (state.refusesNext > 0) {
          state.refusesNext -= 1;
          call.refuse(500);
        } else if (state.isQuick) call.finish();
      },
      () => response.destroy(),
    );
  });
  const { url, close } = await listen(server);
  return { url, calls, state, close };
};
