import { expect, test } from 'vitest';
import {
  CALLER_PROTOCOLS,
  type CallerProtocolName,
} from '../../lambdas/protocols/protocol-name.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { SHARED } from '../support/families.ts';
import { startFleet } from '../support/fleet.ts';
import { startMisbehaving } from '../support/misbehaving-server.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';
import { helloAt } from '../support/strict-upstream/vendors.ts';
import { PATHS } from './strict-fleet.ts';

const STEPS = 8;

/** 5 KB of a file, with escapes, of which each step reads another. */
const resultOf = (step: number) => `${step} "é字😀"\n\t\\`.repeat(350 + 40 * step);

const ID = '1849173641234567891';

/** How each protocol writes the items that a step adds. */
const ITEMS: Record<CallerProtocolName, (step: number) => string[]> = {
  chat: (step) => [
    `{"role":"assistant","content":"I read ${step}.","tool_calls":[{"id":"call_${step}","type":"function","function":{"name":"read","arguments":"{\\"id\\":${ID}}"}}]}`,
    `{"role":"tool","tool_call_id":"call_${step}","content":${JSON.stringify(resultOf(step))}}`,
  ],
  messages: (step) => [
    `{"role":"assistant","content":[{"type":"text","text":"I read ${step}."},{"type":"tool_use","id":"call_${step}","name":"read","input":{"id":${ID},"at":${step}.0}}]}`,
    `{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_${step}","content":${JSON.stringify(resultOf(step))}}]}`,
  ],
  responses: (step) => [
    `{"role":"assistant","content":"I read ${step}."}`,
    `{"type":"function_call","call_id":"call_${step}","name":"read","arguments":"{\\"id\\":${ID}}"}`,
    `{"type":"function_call_output","call_id":"call_${step}","output":${JSON.stringify(resultOf(step))}}`,
  ],
};

const TOOLS: Record<CallerProtocolName, string> = {
  chat: '[{"type":"function","function":{"name":"read","parameters":{"type":"object","maximum":1e400}}}]',
  messages: '[{"name":"read","input_schema":{"type":"object","maximum":1e400}}]',
  responses:
    '[{"type":"function","name":"read","strict":false,"parameters":{"type":"object","maximum":1e400}}]',
};

/** Members before the conversation and behind it: SDKs write them in the order of the call, Claude Code its tools last. */
const bodyOf = (caller: CallerProtocolName, model: string, step: number, isToolsFirst: boolean) => {
  const [list, cap] =
    caller === 'responses' ? ['input', 'max_output_tokens'] : ['messages', 'max_tokens'];
  const items = Array.from({ length: step + 1 }, (_, index) => ITEMS[caller](index)).flat();
  const question = `{"role":"user","content":"Fix it. ${'Read first. '.repeat(3_000)}"}`;
  const messages = `"${list}":[${[question, ...items].join(', ')}]`;
  const tools = `"tools":${TOOLS[caller]}`;
  const members = isToolsFirst ? [tools, messages] : [messages, tools];
  return `{"model":"${model}","stream":true,${members.join(',')},"${cap}":${90 + step},"zz_new":${step}.0}`;
};

test('what a provider gets of each step of a session is what it gets from a router that saw no step before', async () => {
  const upstream = await startMisbehaving((response, { url = '' }) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(helloAt(url)),
  );
  const models = SHARED.map((wire) =>
    modelOn([targetAt(upstream.url, { protocol: wire, upstream: wire })], { id: wire }),
  );
  const fleet = await startFleet({ models, clock: systemClock, size: STEPS + 1 });
  const ask = async (router: number, path: string, body: string, key = fleet.key) => {
    const { status, text, headers } = await send(fleet.urls[router] ?? '', path, {
      ...{ method: 'POST', headers: { 'x-api-key': key } },
      body,
    });
    expect(status, text).toBe(200);
    return { sent: upstream.seen.at(-1)?.text ?? '', dropped: headers['x-router-dropped'] };
  };
  for (const [row, caller] of CALLER_PROTOCOLS.entries()) {
    for (const [column, wire] of SHARED.entries()) {
      for (let step = 0; step < STEPS; step += 1) {
        const isToolsFirst = ((row + column) % 2 === 0) !== (step === 6);
        const body = bodyOf(caller, wire, step, isToolsFirst);
        const next = await ask(0, PATHS[caller], body);
        const first = await ask(step + 1, PATHS[caller], body);
        expect(next, `${caller} ${wire} ${step}`).toEqual(first);
        expect(next.sent.split(ID)).toHaveLength(step + 2);
        if (caller === wire && wire !== 'responses') {
          expect(next.sent).toContain(ITEMS[caller](step).at(-1));
        }
        if (step === 4) expect(await ask(0, PATHS[caller], body, fleet.otherKey)).toEqual(first);
      }
    }
  }
  await fleet.close();
});
