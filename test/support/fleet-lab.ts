import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, onTestFinished } from 'vitest';
import type { Model } from '../../lambdas/catalog/catalog.ts';
import type { LogEvent } from '../../lambdas/log-events.ts';
import { createCountingClock } from './counting-clock.ts';
import { type Fleet, type FleetOptions, startFleet } from './fleet.ts';
import { type Act, startUpstream } from './fleet-upstream.ts';
import { CANARIES } from './leak-watch.ts';
import { modelOn, targetAt } from './models.ts';
import { send } from './send.ts';

const NOW = Date.UTC(2026, 10, 21, 12);

const bodyWith = (fields: object) =>
  JSON.stringify({
    model: 'vendor/model',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
    ...fields,
  });
const BODY = bodyWith({});

const headersOf = ({ key }: Fleet) => ({ authorization: `Bearer ${key}` });

/** Of two projects: what opens a breaker for all must have failed for both. */
export type Asker = 'project' | 'other project';

/** A fleet whose one model has a target for each act, asked over the chat family with streams. */
export const startLab = async (
  acts: Act[],
  { model = {}, ...options }: Partial<FleetOptions> & { model?: Partial<Model> } = {},
) => {
  const clock = createCountingClock(NOW);
  const upstreams = await Promise.all(acts.map(startUpstream));
  const targets = upstreams.map(({ url }, at) => targetAt(url, { upstream: `upstream-${at}` }));
  const fleet = await startFleet({
    models: [modelOn(targets, model)],
    clock,
    secret: CANARIES.upstreamKey,
    ...options,
  });
  onTestFinished(() => fleet.close());
  const askFor = (fields: object, router = 0, as: Asker = 'project') =>
    send(fleet.urls[router] ?? '', '/v1/chat/completions', {
      method: 'POST',
      headers: headersOf(as === 'project' ? fleet : { ...fleet, key: fleet.otherKey }),
      body: bodyWith(fields),
    });
  const ask = (router = 0, as: Asker = 'project') => askFor({}, router, as);
  const askTimes = async (times: number) => {
    const sent = [];
    for (let turn = 0; turn < times; turn += 1) sent.push(await ask());
    return sent;
  };
  let turns = 0;
  /** The same by the two projects in turns. */
  const askInTurn = (router = 0) => {
    turns += 1;
    return ask(router, turns % 2 === 1 ? 'project' : 'other project');
  };
  const askTimesInTurn = async (times: number) => {
    const sent = [];
    for (let turn = 0; turn < times; turn += 1) sent.push(await askInTurn());
    return sent;
  };
  const count = (name: LogEvent) => fleet.lines().filter(({ event }) => event === name).length;
  /** Sends a request, and leaves once the upstream has it. */
  const askAndLeave = async () => {
    const [attempts, lines] = [upstreams[0]?.attempts ?? 0, count('request')];
    const sent = request(`${fleet.urls[0]}/v1/chat/completions`, {
      method: 'POST',
      headers: headersOf(fleet),
    }).on('error', () => undefined);
    sent.end(BODY);
    await expect.poll(() => upstreams[0]?.attempts).toBe(attempts + 1);
    sent.destroy();
    await expect.poll(() => count('request')).toBe(lines + 1);
    await expect.poll(() => upstreams[0]?.sockets.size).toBe(0);
  };
  /** Sends a request and returns once its answer has begun. */
  const askAndHold = async () => {
    const sent = request(`${fleet.urls[0]}/v1/chat/completions`, {
      method: 'POST',
      headers: headersOf(fleet),
    }).on('error', () => undefined);
    sent.end(BODY);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.on('error', () => undefined).resume();
    return { status: response.statusCode, leave: () => void sent.destroy() };
  };
  const [primary, second] = upstreams;
  if (!primary) throw new Error('at least one upstream');
  return {
    clock,
    fleet,
    upstreams,
    primary,
    second,
    askFor,
    ask,
    askTimes,
    askInTurn,
    askTimesInTurn,
    askAndLeave,
    askAndHold,
    count,
  };
};

export const statusesOf = (sent: { status: number }[]) => [
  ...new Set(sent.map((one) => one.status)),
];
