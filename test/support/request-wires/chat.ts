import { fc } from '../seeds.ts';
import { args, loose, MODEL, partsOr, schema, text, unknown, word } from './parts.ts';

/** Valid chat requests in normal form. */
export const chatWire = () => {
  const textPart = loose({ type: fc.constant('text'), text });
  const imagePart = loose({
    type: fc.constant('image_url'),
    image_url: loose(
      { url: fc.constantFrom('https://a.b/c.png', 'data:image/png;base64,AAAA') },
      { detail: word },
    ),
  });
  const audioPart = fc.constant({
    type: 'input_audio',
    input_audio: { data: 'AAAA', format: 'wav' },
  });
  const user = loose(
    { role: fc.constant('user'), content: partsOr(fc.oneof(textPart, imagePart, audioPart)) },
    { name: word },
  );
  const system = loose({ role: fc.constant('system'), content: text });
  const exchange = fc
    .tuple(
      loose({
        id: text,
        type: fc.constant('function'),
        function: loose({ name: word, arguments: args.map((a) => JSON.stringify(a)) }),
      }),
      text,
      unknown,
    )
    .map(([call, content, extra]) => [
      { role: 'assistant', content: null, tool_calls: [call] },
      { ...extra, role: 'tool', tool_call_id: call.id, content },
    ]);
  const assistant = loose(
    { role: fc.constant('assistant'), content: text },
    { reasoning_content: text, name: word },
  );
  const turns = fc.array(
    fc.oneof(
      user.map((m) => [m]),
      assistant.map((m) => [m]),
      system.map((m) => [m]),
      exchange,
    ),
    { minLength: 1, maxLength: 5 },
  );
  const tool = loose({
    type: fc.constant('function'),
    function: loose(
      { name: word, parameters: schema },
      { description: text, strict: fc.boolean() },
    ),
  });
  return loose(
    {
      model: fc.constant(MODEL),
      messages: turns.map((list) => list.flat()),
      stream: fc.constant(false),
    },
    {
      max_tokens: fc.integer({ min: 1, max: 99 }),
      temperature: fc.constantFrom(0, 0.5, 2),
      top_p: fc.constantFrom(0.1, 1),
      stop: fc.array(word, { minLength: 1, maxLength: 4 }),
      tools: fc.uniqueArray(tool, {
        minLength: 1,
        maxLength: 3,
        selector: (t) => JSON.stringify((t.function as { name?: string }).name),
      }),
      response_format: fc.constantFrom(
        { type: 'json_object' },
        { type: 'json_schema', json_schema: { name: 'n', schema: {}, strict: true } },
      ),
      reasoning_effort: fc.constantFrom('low', 'high', 'max'),
      user: word,
      seed: fc.nat(),
      logit_bias: fc.constant({ '1': 2 }),
    },
  );
};
