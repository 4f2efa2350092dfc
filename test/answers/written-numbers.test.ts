import { expect, test } from 'vitest';
import { CALLER_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { startFleet } from '../support/fleet.ts';
import { type MisbehavingServer, startMisbehaving } from '../support/misbehaving-server.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { fc, share } from '../support/seeds.ts';
import { send } from '../support/send.ts';
import { CREATED_AT } from '../support/strict-upstream/responses-response.ts';
import { WIRES, type Wire } from '../support/wires.ts';
import { PAIRS, PATHS } from './strict-fleet.ts';

type Caller = keyof typeof PATHS;

/** Spellings that a reader with 64-bit floating-point numbers changes. */
const NUMBERS = [
  ...['1849173641234567891', '9223372036854775807', '-9223372036854775808', '18446744073709551616'],
  ...['9007199254740993', '123456789012345678901234567890', '0.1234567890123456789012345678'],
  ...['1e400', '-1E-400', '-0.0', '-0', '1.0', '1E5', '2.50', '100000000000000000000000'],
];

/** An object of them, in the spelling of `JSON.stringify` but for its numbers. */
const OBJECT = `{${NUMBERS.map((number, at) => `"n${at}":${number}`).join(',')},"list":[[1.0],{"x":[1e400]}]}`;
const SCHEMA = `{"type":"object","properties":{"id":{"type":"integer","maximum":9223372036854775807,"enum":[${NUMBERS}]}},"default":${OBJECT}}`;
const asText = (json: string) => JSON.stringify(json);

/** Makes a body large, which another part of the router may handle in another way. */
const FILLERS = { small: 'x', large: 'some words of a file; '.repeat(20_000) };

/** A request with the object as input of a call in its history, and with the schema of a tool. */
const REQUESTS: Record<Caller, (model: string, stream: boolean, filler: string) => string> = {
  chat: (model, stream, filler) =>
    `{"model":"${model}","stream":${stream},"messages":[{"role":"user","content":"${filler}"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":${asText(OBJECT)}}}]},{"role":"tool","tool_call_id":"c1","content":"ok"}],"tools":[{"type":"function","function":{"name":"read","parameters":${SCHEMA}}}],"metadata":{"zz":${OBJECT}},"zz_new":${OBJECT}}`,
  messages: (model, stream, filler) =>
    `{"model":"${model}","max_tokens":100,"stream":${stream},"messages":[{"role":"user","content":"${filler}"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"read","input":${OBJECT}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}],"tools":[{"name":"read","input_schema":${SCHEMA}}],"metadata":{"zz":${OBJECT}},"zz_new":${OBJECT}}`,
  responses: (model, stream, filler) =>
    `{"model":"${model}","stream":${stream},"store":false,"input":[{"role":"user","content":"${filler}"},{"type":"function_call","call_id":"c1","name":"read","arguments":${asText(OBJECT)}},{"type":"function_call_output","call_id":"c1","output":"ok"}],"tools":[{"type":"function","name":"read","parameters":${SCHEMA},"strict":false}],"metadata":{"zz":${OBJECT}},"zz_new":${OBJECT}}`,
};

const events = (list: string[]) => list.map((data) => `data: ${data}\n\n`).join('');

const CALLED = `{"type":"function_call","id":"fc_1","call_id":"c2","name":"read","arguments":${asText(OBJECT)},"status":"completed"}`;
const RESPONSE = `{"id":"r","object":"response","created_at":${CREATED_AT},"status":"completed","output":[${CALLED}],"usage":{"input_tokens":5.0,"output_tokens":2,"total_tokens":7},"zz_new":${OBJECT}}`;
const GENERATED = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":${OBJECT}},"thoughtSignature":"c2ln"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":5.0,"candidatesTokenCount":2,"totalTokenCount":7}}`;

/** An answer that calls the tool with the object. A provider streams or not, whatever it was asked for. */
const ANSWERS: Record<Wire, Record<'whole' | 'streamed', string>> = {
  chat: {
    whole: `{"id":"a","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"read","arguments":${asText(OBJECT)}}}],"zz_new":${OBJECT}},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5.0,"completion_tokens":2,"total_tokens":7}}`,
    streamed: events([
      `{"id":"a","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0.0,"id":"c2","type":"function","function":{"name":"read","arguments":${asText(OBJECT.slice(0, 40))}}}]},"finish_reason":null}]}`,
      `{"id":"a","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":${asText(OBJECT.slice(40))}}}]},"finish_reason":null}]}`,
      `{"id":"a","choices":[{"index":0,"delta":{"zz_new":${OBJECT}},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5.0,"completion_tokens":2,"total_tokens":7}}`,
      '[DONE]',
    ]),
  },
  messages: {
    whole: `{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"c2","name":"read","input":${OBJECT}}],"stop_reason":"tool_use","usage":{"input_tokens":5.0,"output_tokens":2}}`,
    streamed: events([
      '{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":5.0,"output_tokens":0}}}',
      '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c2","name":"read","input":{}}}',
      `{"type":"content_block_delta","index":0.0,"delta":{"type":"input_json_delta","partial_json":${asText(OBJECT.slice(0, 40))}}}`,
      `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":${asText(OBJECT.slice(40))}}}`,
      '{"type":"content_block_stop","index":0}',
      '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}',
      '{"type":"message_stop"}',
    ]),
  },
  responses: {
    whole: RESPONSE,
    streamed: events([
      '{"type":"response.created","sequence_number":0,"response":{"id":"r","object":"response","status":"in_progress","output":[]}}',
      '{"type":"response.in_progress","sequence_number":1,"response":{"id":"r","object":"response","status":"in_progress","output":[]}}',
      '{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"c2","name":"read","arguments":""}}',
      ...[OBJECT.slice(0, 40), OBJECT.slice(40)].map(
        (part, at) =>
          `{"type":"response.function_call_arguments.delta","sequence_number":${at + 3},"output_index":0,"item_id":"fc_1","delta":${asText(part)}}`,
      ),
      `{"type":"response.function_call_arguments.done","sequence_number":5,"output_index":0,"item_id":"fc_1","arguments":${asText(OBJECT)}}`,
      `{"type":"response.output_item.done","sequence_number":6,"output_index":0,"item":${CALLED}}`,
      `{"type":"response.completed","sequence_number":7,"response":${RESPONSE}}`,
    ]),
  },
  gemini: { whole: GENERATED, streamed: events([GENERATED]) },
};

const start = async (act: Parameters<typeof startMisbehaving>[0]) => {
  const upstream: MisbehavingServer = await startMisbehaving(act);
  const fleet = await startFleet({
    models: WIRES.map((wire) =>
      modelOn([targetAt(upstream.url, { protocol: wire, upstream: wire })], { id: wire }),
    ),
    clock: systemClock,
  });
  const ask = async (caller: Caller, body: string) => {
    const sent = await send(fleet.urls[0] ?? '', PATHS[caller], {
      ...{ method: 'POST', headers: { 'x-api-key': fleet.key } },
      body,
    });
    expect(sent.status, sent.text.slice(0, 300)).toBe(200);
    return sent.text;
  };
  return { upstream, fleet, ask };
};

const timesIn = (text: string, part: string): number => text.split(part).length - 1;

/** Members that hold a part of a call's arguments, in the streams of each caller. */
const PART =
  /"(?:partial_json|arguments)":("(?:[^"\\]|\\.)*")|arguments\.delta".*?"delta":("(?:[^"\\]|\\.)*")/g;

/** The parts of the arguments in a stream, joined; items that repeat the whole are left out. */
const callsIn = (text: string): string =>
  text
    .split('\n')
    .filter((line) => !/arguments\.done|output_item|"response":/.test(line))
    .flatMap((line) => [...line.matchAll(PART)])
    .map(([, part = '""', delta = part]) => JSON.parse(delta))
    .join('');

/** The input of the call in the history, by the protocol of the upstream. */
const INPUTS: Record<Wire, string> = {
  chat: asText(OBJECT),
  messages: `"input":${OBJECT}`,
  responses: asText(OBJECT),
  gemini: `"args":${OBJECT}`,
};

/** How often each part must be in what the upstream gets. */
const expectedIn = (caller: Caller, wire: Wire) => {
  const ofSame = caller === wire ? 1 : 0;
  return [
    { part: INPUTS[wire], times: 1 },
    { part: SCHEMA.slice(1), times: 1 },
    { part: `"zz":${OBJECT}`, times: ofSame },
    { part: `"zz_new":${OBJECT}`, times: ofSame },
  ];
};

test('numbers in histories, schemas, metadata and unknown members reach every upstream as they were written', async () => {
  const { upstream, fleet, ask } = await start((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWERS[wire].whole),
  );
  let wire: Wire = 'chat';
  for (const pair of PAIRS) {
    wire = pair.wire;
    for (const filler of Object.values(FILLERS)) {
      await ask(pair.caller, REQUESTS[pair.caller](wire, false, filler));
      const text = upstream.seen.at(-1)?.text ?? '';
      const name = `${pair.caller} to ${wire}, ${filler.length}`;
      for (const { part, times } of expectedIn(pair.caller, wire)) {
        expect(timesIn(text, part), name).toBe(times);
      }
    }
  }
  await fleet.close();
});

test('numbers in the arguments of a call reach every caller as the model wrote them', async () => {
  let wire: Wire = 'chat';
  let form: 'whole' | 'streamed' = 'whole';
  const { fleet, ask } = await start((response) => {
    const type = form === 'whole' ? 'application/json' : 'text/event-stream';
    response.writeHead(200, { 'content-type': type }).end(ANSWERS[wire][form]);
  });
  for (const pair of PAIRS) {
    const { caller } = pair;
    wire = pair.wire;
    for (form of ['whole', 'streamed'] as const) {
      const name = `${form} from ${wire} for ${caller}`;
      const whole = await ask(caller, REQUESTS[caller](wire, false, 'x'));
      expect(whole, name).toContain(caller === 'messages' ? `"input":${OBJECT}` : asText(OBJECT));
      const hasNew = caller === wire && wire !== 'messages';
      if (hasNew) expect(whole, name).toContain(`"zz_new":${OBJECT}`);
      const streamed = await ask(caller, REQUESTS[caller](wire, true, 'x'));
      expect(callsIn(streamed), name).toBe(OBJECT);
    }
  }
  await fleet.close();
});

/** A number in any spelling of JSON. */
const number = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.stringMatching(/^-?(?:0|[1-9][0-9]{0,40})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?$/),
);

/** Where the values of a JSON text are that hold no others. */
const valuesIn = (text: string) =>
  [...text.matchAll(/(?<=[:,[])(?:"[^"\\]*"(?!:)|null|true|false|-?\d[^,\]}]*)/g)].map(
    ({ 0: { length }, index }) => ({ from: index, to: index + length }),
  );

const BRIEF = '{"a":1}';

test('a number in any spelling in place of any value of a request is no failure of the router', async () => {
  const { fleet, upstream } = await start((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWERS.chat.whole),
  );
  const places = CALLER_PROTOCOLS.flatMap((caller) => {
    const body = REQUESTS[caller]('chat', false, 'x').replaceAll(OBJECT, BRIEF);
    return valuesIn(body).map((place) => ({ caller, body, ...place }));
  });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...places), number, async (place, written) => {
      const { caller, body, from, to } = place;
      const { status, text } = await send(fleet.urls[0] ?? '', PATHS[caller], {
        ...{ method: 'POST', headers: { 'x-api-key': fleet.key } },
        body: body.slice(0, from) + written + body.slice(to),
      });
      expect([200, 400, 404], text).toContain(status);
    }),
    { numRuns: share(150) },
  );
  expect(upstream.seen.length).toBeGreaterThan(0);
  await fleet.close();
});

test('a number in any spelling in place of any value of a response is read, or it is malformed', async () => {
  const reply = { type: '', body: '' };
  const { fleet } = await start((response) =>
    response.writeHead(200, { 'content-type': reply.type }).end(reply.body),
  );
  const places = WIRES.flatMap((wire) =>
    (['whole', 'streamed'] as const).flatMap((form) => {
      const body = ANSWERS[wire][form].replaceAll(OBJECT, BRIEF);
      const type = form === 'whole' ? 'application/json' : 'text/event-stream';
      return valuesIn(body).map((place) => ({ wire, type, body, ...place }));
    }),
  );
  const caller = fc.constantFrom(...CALLER_PROTOCOLS);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...places), number, caller, async (place, written, from) => {
      const { wire, type, body } = place;
      Object.assign(reply, {
        type,
        body: body.slice(0, place.from) + written + body.slice(place.to),
      });
      const { status, text } = await send(fleet.urls[0] ?? '', PATHS[from], {
        ...{ method: 'POST', headers: { 'x-api-key': fleet.key } },
        body: REQUESTS[from](wire, false, 'x'),
      });
      expect([200, 502, 503], text).toContain(status);
    }),
    { numRuns: share(150) },
  );
  await fleet.close();
});
