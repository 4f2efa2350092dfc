import { Agent, request } from 'node:http';
import type { Case } from './cases.ts';

export type Target = { url: string; headers: Record<string, string> };

/** The end of a complete response on each protocol, streamed or whole. */
const COMPLETE = /\[DONE\]|message_stop|"finish_reason":"stop"|"stop_reason":"end_turn"/;

const sendOnce = (agent: Agent, { url, headers }: Target, { path, body }: Case) =>
  new Promise<{ firstByteMs: number }>((resolve, reject) => {
    const startedAt = performance.now();
    const outgoing = request(`${url}${path}`, { method: 'POST', headers, agent }, (response) => {
      let firstByteMs = 0;
      let tail = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        firstByteMs ||= performance.now() - startedAt;
        tail = (tail + text).slice(-2_000);
      });
      response.on('end', () => {
        const isComplete = response.statusCode === 200 && COMPLETE.test(tail);
        if (isComplete) resolve({ firstByteMs });
        else reject(new Error(`${url}: ${response.statusCode} ${tail.slice(-300)}`));
      });
      response.on('error', reject);
    });
    outgoing.on('error', reject).end(body);
  });

/** Sends a case's requests in a closed loop. @throws Error at the first wrong response */
export const load = async (target: Target, current: Case): Promise<{ firstByteMs: number[] }> => {
  const agent = new Agent({ keepAlive: true, maxSockets: current.connections });
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(current.body)),
    ...target.headers,
  };
  const firstByteMs: number[] = [];
  let left = current.requests;
  const work = async () => {
    while (left > 0) {
      left -= 1;
      firstByteMs.push((await sendOnce(agent, { url: target.url, headers }, current)).firstByteMs);
    }
  };
  await Promise.all(Array.from({ length: current.connections }, work));
  agent.destroy();
  return { firstByteMs };
};
