import { fc } from '../seeds.ts';
import { args, loose, MODEL, schema, text, word } from './parts.ts';

const PNG = 'data:image/png;base64,AAAA';

const content = () => {
  const textPart = loose({ type: fc.constantFrom('input_text', 'text'), text });
  const image = loose(
    { type: fc.constant('input_image'), image_url: fc.constantFrom('https://a.b/c.png', PNG) },
    { detail: word },
  );
  const file = fc.constant({
    type: 'input_file',
    filename: 'a.pdf',
    file_data: 'data:application/pdf;base64,AAAA',
  });
  return fc.oneof(text, fc.array(fc.oneof(textPart, image, file), { minLength: 1, maxLength: 3 }));
};

const said = () => {
  const textPart = loose(
    { type: fc.constant('output_text'), text },
    { annotations: fc.constant([]) },
  );
  const refusal = loose({ type: fc.constant('refusal'), refusal: text });
  return fc.oneof(text, fc.array(fc.oneof(textPart, refusal), { minLength: 1, maxLength: 2 }));
};

/** A call and its output, with ids that no other exchange of the request has. */
const exchange = () => {
  const called = fc.oneof(
    loose({
      type: fc.constant('function_call'),
      name: word,
      arguments: args.map((a) => JSON.stringify(a)),
    }),
    loose({
      type: fc.constant('function_call'),
      name: word,
      namespace: word,
      arguments: args.map((a) => JSON.stringify(a)),
    }),
    loose({ type: fc.constant('custom_tool_call'), name: word, input: text }, { status: word }),
  );
  return fc.tuple(fc.uuid(), called, content()).map(([id, call, output]) => [
    { ...call, call_id: `call_${id}` },
    { type: `${call.type}_output`, call_id: `call_${id}`, output },
  ]);
};

const reasoning = () =>
  loose(
    {
      type: fc.constant('reasoning'),
      summary: fc.array(loose({ type: fc.constant('summary_text'), text }), { maxLength: 2 }),
    },
    {
      id: word,
      content: fc.constant(null),
      encrypted_content: fc.constantFrom(null, 'of another'),
    },
  );

const tools = () => {
  const named = loose(
    { type: fc.constant('function'), name: word, parameters: schema },
    { description: text, strict: fc.boolean() },
  );
  const custom = loose(
    { type: fc.constant('custom'), name: word },
    {
      description: text,
      format: fc.constantFrom(
        { type: 'text' },
        { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
      ),
    },
  );
  const hosted = fc.constantFrom(
    { type: 'web_search', external_web_access: false },
    { type: 'tool_search', execution: 'client' },
  );
  const plain = fc.uniqueArray(fc.oneof(named, custom), {
    maxLength: 3,
    selector: ({ name }) => name,
  });
  const namespace = loose({ type: fc.constant('namespace'), name: word, tools: plain });
  const spaces = fc.uniqueArray(namespace, { maxLength: 2, selector: ({ name }) => name });
  return fc
    .tuple(plain, spaces, fc.array(hosted, { maxLength: 1 }))
    .map(([own, inSpaces, ofVendor]) => [...own, ...inSpaces, ...ofVendor]);
};

/** Valid responses requests. */
export const responsesWire = () => {
  const message = (role: string, of: fc.Arbitrary<unknown>) =>
    loose({ role: fc.constant(role), content: of }, { type: fc.constant('message') });
  const items = fc.array(
    fc.oneof(
      message('user', content()).map((item) => [item]),
      message('assistant', said()).map((item) => [item]),
      fc
        .constantFrom('system', 'developer')
        .chain((role) => message(role, text).map((item) => [item])),
      reasoning().map((item) => [item]),
      exchange(),
    ),
    { minLength: 1, maxLength: 6 },
  );
  return loose(
    {
      model: fc.constant(MODEL),
      input: fc.oneof(
        text,
        fc.tuple(message('user', text), items).map(([first, rest]) => [first, ...rest.flat()]),
      ),
    },
    {
      instructions: text,
      stream: fc.boolean(),
      store: fc.constant(false),
      max_output_tokens: fc.integer({ min: 1, max: 99 }),
      temperature: fc.constantFrom(0, 0.5, 1),
      top_p: fc.constantFrom(0.1, 1),
      tools: tools(),
      parallel_tool_calls: fc.boolean(),
      text: fc.constantFrom(
        { verbosity: 'low' },
        { format: { type: 'json_object' } },
        { format: { type: 'json_schema', name: 'n', schema: {}, strict: true } },
      ),
      reasoning: fc.constantFrom({ effort: 'high' }, { effort: 'none' }, { summary: 'auto' }),
      user: word,
      metadata: fc.constant({ a: 'b' }),
      include: fc.constant(['reasoning.encrypted_content']),
      truncation: fc.constantFrom('auto', 'disabled'),
    },
  );
};
