import { SEAL } from './responses-rules.ts';
import { cutUnits, type Meant, toJson, type WireForm } from './wire-response.ts';

/** Responses of the Responses API, in the sequence of events that its vendor documents. */
type Json = Record<string, unknown>;

/** An item that has begun, its texts as they are streamed, and the members that it gains. */
type Item = { begun: Json; name: string; text: string; part?: Json; whole: Json };

const itemsOf = ({ id: response = '1', thinking, text, calls }: Meant): Item[] => [
  ...(thinking === undefined
    ? []
    : [
        {
          begun: { id: `rs_${response}`, type: 'reasoning', summary: [] },
          ...{ name: 'reasoning_summary_text', text: thinking.text },
          part: { type: 'summary_text', text: '' },
          whole: {
            summary: [{ type: 'summary_text', text: thinking.text }],
            encrypted_content: `${SEAL}${thinking.signature}`,
          },
        },
      ]),
  ...(text === ''
    ? []
    : [
        {
          begun: { id: `msg_${response}`, type: 'message', role: 'assistant', content: [] },
          ...{ name: 'output_text', text },
          part: { type: 'output_text', text: '', annotations: [], logprobs: [] },
          whole: { content: [{ type: 'output_text', text, annotations: [], logprobs: [] }] },
        },
      ]),
  ...calls.map(({ id, name, arguments: called }, at) => ({
    begun: { id: `fc_${response}_${at}`, type: 'function_call', call_id: id, name, arguments: '' },
    ...{ name: 'function_call_arguments', text: called },
    whole: { arguments: called },
  })),
];

const usageOf = ({ usage: { input, cached, output } }: Meant) => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input + output,
});

/** The time of its responses, by which a relayed one is recognized. */
export const CREATED_AT = 1_741_476_542;

const BEGUN = {
  id: 'resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b',
  object: 'response',
  created_at: CREATED_AT,
  status: 'in_progress',
  ...{ error: null, incomplete_details: null, instructions: null, metadata: {}, model: 'm' },
  ...{ output: [], parallel_tool_calls: true, temperature: 1, top_p: 1, access_programs: null },
  ...{ tool_choice: 'auto', tools: [], max_output_tokens: null, previous_response_id: null },
  ...{ reasoning: { effort: null, summary: null }, truncation: 'disabled' },
  ...{ text: { format: { type: 'text' } } },
};

const doneItem = ({ begun, whole }: Item) => ({
  ...begun,
  ...(begun.type !== 'reasoning' && { status: 'completed' }),
  ...whole,
});

const ended = (meant: Meant) => {
  const isCut = meant.finish === 'length';
  return {
    ...BEGUN,
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output: itemsOf(meant).map(doneItem),
    usage: usageOf(meant),
  };
};

export const wholeResponses = (meant: Meant, form: WireForm): string => toJson(ended(meant), form);

export const streamedResponses = (meant: Meant, form: WireForm): string => {
  let sequence_number = 0;
  const event = (type: string, fields: object) => {
    const text = toJson({ type: `response.${type}`, sequence_number, ...fields }, form);
    sequence_number += 1;
    return `event: response.${type}\ndata: ${text}\n\n`;
  };

  const eventsOf = (item: Item, output_index: number) => {
    const { begun, name, text, part } = item;
    const place = begun.type === 'reasoning' ? { summary_index: 0 } : { content_index: 0 };
    const at = { item_id: begun.id, output_index, ...(part && place) };
    const kind = begun.type === 'reasoning' ? 'reasoning_summary_part' : 'content_part';
    const status = begun.type !== 'reasoning' && { status: 'in_progress' };
    const probable = name === 'output_text' && { logprobs: [] };
    const end = part ? { text } : { arguments: text };
    return [
      event('output_item.added', { output_index, item: { ...begun, ...status } }),
      ...(part ? [event(`${kind}.added`, { ...at, part })] : []),
      ...cutUnits(text, form.units).map((delta) =>
        event(`${name}.delta`, { ...at, delta, ...probable }),
      ),
      event(`${name}.done`, { ...at, ...end, ...probable }),
      ...(part ? [event(`${kind}.done`, { ...at, part: { ...part, text } })] : []),
      event('output_item.done', { output_index, item: doneItem(item) }),
    ];
  };

  return [
    event('created', { response: BEGUN }),
    event('in_progress', { response: BEGUN }),
    ...itemsOf(meant).flatMap(eventsOf),
    event(meant.finish === 'length' ? 'incomplete' : 'completed', { response: ended(meant) }),
  ].join('');
};
