import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../../lambdas/support/clock.ts';
import { listen } from '../../local/loopback.ts';
import { createRandom } from '../simulation/random.ts';
import { startEnvironments } from '../support/environments.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { chatWire } from '../support/translate.ts';
import { askFor } from './ask.ts';
import { createItemCapacity } from './item-capacity.ts';

const START = Date.parse('2026-11-21T11:30:05Z');
const SECOND = 1_000;
const STEP_MS = 10;
/** A response lasts a second, so each request in flight of a second is a mark. */
const ANSWER_MS = 1_000;

const ANSWER = chatWire([
  {
    choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  },
]);

/** An upstream of the chat protocol whose responses last a second of the clock. */
const startSteadyUpstream = (clock: Clock) =>
  listen(
    createServer((request, response) => {
      request.resume();
      clock.after(ANSWER_MS, () =>
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ANSWER),
      );
    }),
  );

/**
 * Four environments of the router on a table that limits the writes of each item, and one key. Time stands still while
 * the table has calls to answer: a call takes a step or two on any machine, and a slow one shows the same load.
 */
export const startScaledLab = async ({ unitsPerSecond }: { unitsPerSecond: number }) => {
  const clock = createManualClock(START);
  const random = createRandom(1);
  const upstream = await startSteadyUpstream(clock);
  const models = [modelOn([targetAt(upstream.url)])];
  const { environments, createTenant, close } = await startEnvironments({ models, clock });
  const capacity = createItemCapacity({ clock, unitsPerSecond });
  for (const { dynamo } of environments) capacity.limit(dynamo);
  const tenant = await createTenant();
  let sent = 0;
  let answered = 0;

  const ask = async (): Promise<number> => {
    sent += 1;
    const url = environments[sent % environments.length]?.url ?? '';
    const asked = { path: '/v1/chat/completions', key: tenant.key, model: 'vendor/model' };
    const response = await askFor(url, asked);
    await response.text();
    answered += 1;
    return response.status;
  };

  const pass = async () => {
    clock.advance(STEP_MS);
    do await setTimeout(1);
    while (environments.some(({ dynamo }) => dynamo.isBusy()));
  };

  return {
    capacity,
    tenant,
    /** Sends `rate` requests a second for some seconds. The list gets the status of each response when it ends. */
    offer: async (rate: number, seconds: number): Promise<number[]> => {
      const statuses: number[] = [];
      for (let n = 0; n < rate * seconds; n += 1) {
        clock.after(random.between(0, seconds * SECOND - 1), () => {
          void ask().then((status) => statuses.push(status));
        });
      }
      const end = clock.now() + seconds * SECOND;
      while (clock.now() < end) await pass();
      return statuses;
    },
    /** Resolves when every response has ended. */
    settle: async () => {
      while (answered < sent) await pass();
    },
    close: async () => {
      await close();
      await upstream.close();
    },
  };
};
