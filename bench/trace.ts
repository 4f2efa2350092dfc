/**
 * The files of lambdas/ that one warm streamed chat request enters, with the functions it calls there:
 * what a reader of the pipeline has to open. V8 counts the calls while the local router serves the request
 * from a chat upstream. `web/` and `admin/` are left out, since they play the platform and serve the console.
 * Run it with `npm run bench:trace`; it fails above the budget.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Session } from 'node:inspector/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chat } from '../lambdas/protocols/chat/index.ts';
import { startLocal } from '../local/start.ts';
import { modelOn, targetAt } from '../test/support/models.ts';
import { BODY, print, recordChunks } from './event-cost.ts';

const BUDGET = 85;
const ROOT = new URL('..', import.meta.url);
const LAMBDAS = new URL('lambdas/', ROOT).href;
const OTHERS = ['web/', 'admin/'].map((room) => new URL(room, LAMBDAS).href);

const chunks = recordChunks(chat, 1, 10);

const upstream = createServer(async (request, response) => {
  await once(request.resume(), 'end');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const chunk of chunks) {
    response.write(chunk);
    await nextTurn();
  }
  response.end();
}).listen(0, '127.0.0.1');
await once(upstream, 'listening');
const address = upstream.address();
if (address === null || typeof address === 'string') throw new Error('no port');

const target = targetAt(`http://127.0.0.1:${address.port}`);
const router = await startLocal({
  catalog: [modelOn([target])],
  secrets: { secret: 'credential' },
});

const send = async () => {
  const response = await fetch(`${router.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${router.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(BODY),
  });
  const text = await response.text();
  if (!text.includes('[DONE]')) throw new Error(`${response.status}, not a complete stream`);
};

const session = new Session();
session.connect();

/** The scripts entered since the last call. */
const takeEntered = async () => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result.flatMap(({ url, functions }) => {
    const called = functions.filter(({ ranges }) => ranges.some(({ count }) => count > 0));
    const names = called.map(({ functionName }) => functionName).filter((name) => name !== '');
    return called.length > 0 ? [{ url, names }] : [];
  });
};

try {
  await send();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await send();
  await takeEntered();
  await send();
  const entered = (await takeEntered())
    .filter(({ url }) => url.startsWith(LAMBDAS) && !OTHERS.some((room) => url.startsWith(room)))
    .toSorted((one, other) => one.url.localeCompare(other.url));
  for (const { url, names } of entered) {
    print(`${fileURLToPath(url).slice(fileURLToPath(ROOT).length)}: ${names.join(', ')}`);
  }
  print(`${entered.length} files; the budget is ${BUDGET}`);
  if (entered.length > BUDGET) process.exitCode = 1;
} finally {
  session.disconnect();
  await router.close();
  upstream.close();
}
