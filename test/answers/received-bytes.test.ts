import { expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { FAMILIES, SHARED } from '../support/families.ts';
import { startFleet } from '../support/fleet.ts';
import { startMisbehaving } from '../support/misbehaving-server.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { send } from '../support/send.ts';
import { helloAt } from '../support/strict-upstream/vendors.ts';
import { PATHS } from './strict-fleet.ts';

/** What a client of another language writes: white space, escapes, spellings and order of its own, and members of tomorrow. */
const BODIES = {
  chat: (fields: string, text: string) =>
    `{ ${fields},\n  "temperature" : 0.70, "zz_new":{"b":1.0,"a":[ ]},"stream":true, "stream_options":{"include_usage":true,"zz":2e0},
  "messages":[ {"role":"user", "content":[{"type":"text","text":"${text}"}],"zz":"\\u00e9\\/"} ] }`,
  messages: (fields: string, text: string) =>
    `{ ${fields},\n  "max_tokens" : 64.0, "zz_new":{"b":1.0,"a":[ ]},"stream":true, "tools":[ {"name":"read","input_schema":{ "type":"object"},"zz":2e0} ],
  "messages":[ {"role":"user", "content":[{"type":"text","text":"${text}", "cache_control":{ "type":"ephemeral"}}],"zz":"\\u00e9\\/"} ] }`,
  responses: (fields: string, text: string) =>
    `{ ${fields},\n  "max_output_tokens" : 64.0, "zz_new":{"b":1.0,"a":[ ]},"stream":true, "store":false, "include" : ["reasoning.encrypted_content"], "tools":[ {"type":"function","name":"read","parameters":{ "type":"object"},"strict":false,"zz":2e0} ],
  "input":[ {"role":"user", "content":[{"type":"input_text","text":"${text}"}],"zz":"\\u00e9\\/"} ] }`,
};

const TEXTS = { small: 'é字😀', large: 'é字😀 and words '.repeat(30_000) };

const start = async ({
  vision = false,
  ...members
}: {
  toolCallIds?: 'short';
  vision?: boolean;
} = {}) => {
  const upstream = await startMisbehaving((response, { url = '' }) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(helloAt(url)),
  );
  const fleet = await startFleet({
    models: SHARED.map((wire) =>
      modelOn([targetAt(upstream.url, { protocol: wire, upstream: wire, ...members })], {
        id: wire,
        vision,
      }),
    ),
    clock: systemClock,
  });
  const ask = async (wire: (typeof SHARED)[number], body: string) => {
    const { status, text } = await send(fleet.urls[0] ?? '', PATHS[wire], {
      ...{ method: 'POST', headers: { 'x-api-key': fleet.key } },
      body,
    });
    expect(status, text).toBe(200);
    return upstream.seen.at(-1)?.text ?? '';
  };
  return { fleet, ask };
};

test('a request for an upstream of its protocol is sent byte for byte, but for the name of the model', async () => {
  const { fleet, ask } = await start();
  for (const wire of SHARED) {
    for (const text of Object.values(TEXTS)) {
      for (const mark of ['', '\uFEFF']) {
        const body = BODIES[wire](`"model" : "${wire}"`, text);
        const sent = await ask(wire, mark + body);
        expect(sent).toBe(body.replace(`"model" : "${wire}"`, '"model" : "large"'));
      }
    }
  }
  await fleet.close();
});

test('of a member that a request repeats the last one is checked, and the only one that is sent', async () => {
  const { fleet, ask } = await start();
  for (const wire of SHARED) {
    const name = wire === 'responses' ? 'input' : 'messages';
    const other = `"${name}":[{"role":"user","content":"canary"}]`;
    const fields = [
      `"model":"no/model","model":"${wire}"`,
      `"mode\\u006c":"no/model","model":"${wire}"`,
      `"model":"${wire}",${other}`,
      `"model":"${wire}","zz":{"a":"canary","a":1}`,
      `"model":"${wire}","__proto__":{"model":"canary"}`,
    ];
    for (const repeated of fields) {
      const sent = await ask(wire, BODIES[wire](repeated, 'hi'));
      expect(sent, repeated).not.toMatch(/canary|no\/model|__proto__/);
      expect(sent.match(/"model"/g), repeated).toHaveLength(1);
      expect(sent, repeated).toContain('"b":1.0');
    }
  }
  await fleet.close();
});

const NEW = '"zz":18446744073709551616';

/** Histories that a vendor would reject: ids that another protocol made, and one that the target's profile shortens. */
const REPAIRED = {
  chat: `{"model":"chat",${NEW},"messages":[{"role":"user","content":[{"type":"text","text":"hi",${NEW}},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk=",${NEW}},${NEW}}],${NEW}},{"role":"assistant","content":null,"tool_calls":[{"id":"a.long.id","type":"function","function":{"name":"read","arguments":"{}",${NEW}},${NEW}}],${NEW}},{"role":"tool","tool_call_id":"a.long.id","content":"ok",${NEW}}],"tools":[{"type":"function","function":{"name":"read","parameters":{},${NEW}},${NEW}}],"tool_choice":{"type":"function","function":{"name":"read",${NEW}},${NEW}},"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{},${NEW}},${NEW}}}`,
  messages: `{"model":"messages","max_tokens":9,${NEW},"messages":[{"role":"user","content":[{"type":"text","text":"hi",${NEW}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk=",${NEW}},${NEW}}],${NEW}},{"role":"assistant","content":[{"type":"tool_use","id":"a.long.id","name":"read","input":{${NEW}},${NEW}}],${NEW}},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a.long.id","content":[{"type":"text","text":"ok",${NEW}}],${NEW}}],${NEW}}],"tools":[{"name":"read","input_schema":{"type":"object"},${NEW}}],"tool_choice":{"type":"auto",${NEW}}}`,
};

test('a history that is repaired for the vendor keeps the members that no vendor has yet', async () => {
  const { fleet, ask } = await start({ toolCallIds: 'short', vision: true });
  for (const wire of FAMILIES) {
    const sent = await ask(wire, REPAIRED[wire]);
    expect(sent, 'repaired').not.toContain('a.long.id');
    expect(sent.split(NEW).length, sent).toBe(REPAIRED[wire].split(NEW).length);
  }
  await fleet.close();
});
