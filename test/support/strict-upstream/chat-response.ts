import { cutUnits, type Meant, toJson, type WireForm } from './wire-response.ts';

/** Answers of the chat protocol, in the sequence of chunks that its vendor documents. */
const FINISHES = { stop: 'stop', length: 'length', 'tool-calls': 'tool_calls' };

const usageOf = ({ usage: { input, cached, output } }: Meant) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
});

const ENVELOPE = { id: 'chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG', created: 1_741_570_283 };

const callOf = ({ id, name, arguments: text }: Meant['calls'][number]) => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});

export const wholeChat = (meant: Meant, form: WireForm): string => {
  const message = {
    role: 'assistant',
    content: meant.text === '' ? null : meant.text,
    ...(meant.calls.length > 0 && { tool_calls: meant.calls.map(callOf) }),
    refusal: null,
    annotations: [],
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: FINISHES[meant.finish] };
  return toJson(
    {
      ...ENVELOPE,
      object: 'chat.completion',
      model: 'm',
      choices: [choice],
      usage: usageOf(meant),
    },
    form,
  );
};

export const streamedChat = (meant: Meant, form: WireForm): string => {
  const chunk = (choices: unknown[], usage: unknown = null) =>
    `data: ${toJson({ ...ENVELOPE, object: 'chat.completion.chunk', model: 'm', choices, usage }, form)}\n\n`;
  const delta = (part: object, finish: string | null = null) =>
    chunk([{ index: 0, delta: part, logprobs: null, finish_reason: finish }]);
  const calls = meant.calls.flatMap((call, index) => [
    delta({ tool_calls: [{ index, ...callOf({ ...call, arguments: '' }) }] }),
    ...cutUnits(call.arguments, form.units).map((piece) =>
      delta({ tool_calls: [{ index, function: { arguments: piece } }] }),
    ),
  ]);
  return [
    delta({ role: 'assistant', content: '', refusal: null }),
    ...cutUnits(meant.text, form.units).map((content) => delta({ content })),
    ...calls,
    delta({}, FINISHES[meant.finish]),
    chunk([], usageOf(meant)),
    'data: [DONE]\n\n',
  ].join('');
};
