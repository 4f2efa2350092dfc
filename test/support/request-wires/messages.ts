import { fc } from '../seeds.ts';
import { args, loose, MODEL, partsOr, schema, text, word } from './parts.ts';

/** Valid messages requests in normal form. */
export const messagesWire = () => {
  const cache = { cache_control: fc.constant({ type: 'ephemeral' }) };
  const textBlock = loose({ type: fc.constant('text'), text }, cache);
  const line = fc.constantFrom(
    'x-anthropic-billing-header: a;',
    'x-anthropic-billing-header: a;\n\nb',
  );
  const accounted = loose({ type: fc.constant('text'), text: fc.oneof(line, text) }, cache);
  const image = loose(
    {
      type: fc.constant('image'),
      source: fc.constantFrom(
        { type: 'base64', media_type: 'image/png', data: 'AAAA' },
        { type: 'url', url: 'https://a.b/c.png' },
      ),
    },
    cache,
  );
  const document = loose(
    {
      type: fc.constant('document'),
      source: fc.constantFrom(
        { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
        { type: 'text', media_type: 'text/plain', data: 'words' },
      ),
    },
    { title: text, ...cache },
  );
  const found = fc.constant({
    type: 'search_result',
    title: 't',
    source: 's',
    content: [{ type: 'text', text: 'x' }],
  });
  const user = loose({
    role: fc.constant('user'),
    content: partsOr(fc.oneof(textBlock, image, document, found)),
  });
  const thinking = loose({ type: fc.constant('thinking'), thinking: text, signature: text });
  const redacted = loose({ type: fc.constant('redacted_thinking'), data: text });
  const server = fc.constant({
    type: 'server_tool_use',
    id: 's',
    name: 'web_search',
    input: { q: 1 },
  });
  const reply = loose({
    role: fc.constant('assistant'),
    content: fc.array(fc.oneof(thinking, redacted, server, textBlock), {
      minLength: 2,
      maxLength: 3,
    }),
  });
  const id = fc.stringMatching(/^toolu_[a-z0-9]{1,6}$/);
  const exchange = fc
    .tuple(id, word, args, partsOr(fc.oneof(textBlock, image)), fc.boolean())
    .map(([callId, name, input, content, failed]) => [
      { role: 'assistant', content: [{ type: 'tool_use', id: callId, name, input }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: callId,
            content,
            ...(failed ? { is_error: true } : {}),
          },
          { type: 'text', text: 'go on' },
        ],
      },
    ]);
  const turns = fc
    .array(fc.oneof(fc.tuple(user, reply), exchange), { minLength: 1, maxLength: 3 })
    .map((pairs) => pairs.flat())
    // Consecutive turns of one role are merged, so the wire is in normal form when they alternate.
    .filter((list) => list.every((turn, i) => turn.role !== list[i - 1]?.role))
    // Ids that repeat are made unique.
    .filter((list) => {
      const ids = JSON.stringify(list).match(/"id":"toolu_[^"]*"/g) ?? [];
      return new Set(ids).size === ids.length;
    });
  const tool = loose(
    { name: word, input_schema: schema },
    { description: text, strict: fc.boolean(), ...cache },
  );
  return loose(
    {
      model: fc.constant(MODEL),
      messages: turns,
      max_tokens: fc.integer({ min: 1, max: 99 }),
      stream: fc.constant(false),
    },
    {
      system: fc.oneof(partsOr(textBlock), partsOr(accounted)),
      temperature: fc.constantFrom(0, 0.5, 1),
      top_k: fc.nat(9),
      stop_sequences: fc.array(word, { minLength: 1, maxLength: 6 }),
      tools: fc.uniqueArray(tool, { minLength: 1, maxLength: 3, selector: (t) => t.name }),
      thinking: fc.constantFrom(
        { type: 'disabled' },
        { type: 'adaptive', display: 'updates' },
        { type: 'between_tools' },
      ),
      output_config: fc.constantFrom(
        { effort: 'high' },
        { format: { type: 'json_schema', schema: {} }, x_new: 1 },
      ),
      metadata: fc.constantFrom({ user_id: 'u' }, { user_id: 'u', x_trace: 't' }),
      context_management: fc.constant({ edits: [] }),
    },
  );
};
