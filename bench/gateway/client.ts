import { Agent, request } from 'node:http';
import type { Case } from './cases.ts';

export type Target = {
  url: string;
  headers: Record<string, string>;
  /** What stands before a model's id, e.g. `provider,`. */
  modelPrefix?: string;
};

/** The end of a complete response on each protocol, streamed or whole. */
const COMPLETE = /\[DONE\]|message_stop|"finish_reason":"stop"|"stop_reason":"end_turn"/;

const FIRST_TEXT = 'word0';

type Prepared = Pick<Target, 'url' | 'headers'> & Pick<Case, 'path' | 'body'>;

const sendOnce = (agent: Agent, { url, headers, path, body }: Prepared) =>
  new Promise<{ firstTextMs: number }>((resolve, reject) => {
    const startedAt = performance.now();
    const outgoing = request(`${url}${path}`, { method: 'POST', headers, agent }, (response) => {
      let firstTextMs = 0;
      let tail = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        tail = (tail + text).slice(-2_000);
        if (firstTextMs === 0 && tail.includes(FIRST_TEXT))
          firstTextMs = performance.now() - startedAt;
      });
      response.on('end', () => {
        const isComplete = response.statusCode === 200 && COMPLETE.test(tail);
        if (isComplete) resolve({ firstTextMs });
        else reject(new Error(`${url}: ${response.statusCode} ${tail.slice(-300)}`));
      });
      response.on('error', reject);
    });
    outgoing.on('error', reject).end(body);
  });

/** Sends a case's requests in a closed loop. @throws Error at the first wrong response */
export const load = async (
  { url, headers, modelPrefix = '' }: Target,
  { path, model, connections, requests, ...current }: Case,
): Promise<{ firstTextMs: number[] }> => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const body = current.body.replace(model, modelPrefix + model);
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  const prepared = {
    ...{ url, path, body },
    headers: { 'content-type': 'application/json', ...length, ...headers },
  };
  const firstTextMs: number[] = [];
  let left = requests;
  const work = async () => {
    while (left > 0) {
      left -= 1;
      firstTextMs.push((await sendOnce(agent, prepared)).firstTextMs);
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, work));
  } finally {
    agent.destroy();
  }
  return { firstTextMs };
};
