import OpenAI from 'openai';
import type { Said } from '../caching-provider/server.ts';
import type { Stage } from './play.ts';

/** A loop around the official SDK: one call a step, whose result is appended, until the model calls no more. */
const words = (tokens: number, name: string) => `${name} `.padEnd(tokens * 4, 'lorem ipsum ');

const TOOLS = Array.from({ length: 10 }, (_, at) => ({
  type: 'function' as const,
  function: {
    name: `tool_${at}`,
    description: words(200, `tool ${at}`),
    parameters: { type: 'object', properties: { path: { type: 'string' } } },
  },
}));

/** With its tools 20,000 tokens. */
const SYSTEM = words(17_800, 'rules');
/** Of one step, so that 64 end at 180,000. */
const RESULT_TOKENS = 2_500;

/** What the model says in each of so many steps. */
export const loopAnswer =
  (steps: number) =>
  (index: number): Said =>
    index + 1 < steps
      ? {
          text: index % 4 === 0 ? `Step ${index}.` : '',
          calls: [
            { id: `call_${index}`, name: 'tool_1', arguments: `{"path":"file-${index}.ts"}` },
          ],
          finish: 'tool-calls',
        }
      : { text: 'Done.', calls: [], finish: 'stop' };

const STEP_MS = 20_000;

/** Runs the loop to its end through the routers of a stage, in turn, and returns how many steps it took. */
export const runLoop = async ({ fleet, clock }: Stage, model: string): Promise<number> => {
  const clients = fleet.urls.map(
    (url) => new OpenAI({ baseURL: `${url}/v1`, apiKey: fleet.key, maxRetries: 0 }),
  );
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: 'Read the files one by one.' },
  ];
  for (let step = 1; ; step += 1) {
    const client = clients[step % clients.length];
    if (!client) throw new Error('There is no router.');
    const { choices } = await client.chat.completions.create({ model, messages, tools: TOOLS });
    const [choice] = choices;
    if (!choice) throw new Error('There is no choice.');
    clock.advance(STEP_MS);
    messages.push(choice.message);
    const calls = choice.message.tool_calls ?? [];
    if (calls.length === 0) return step;
    for (const { id } of calls) {
      messages.push({ role: 'tool', tool_call_id: id, content: words(RESULT_TOKENS, id) });
    }
  }
};
