import { createInterface } from 'node:readline';
import { settle } from './common.mjs';

/**
 * The modules that know a client. A module maps the names of clients to `connect(order)`, which returns
 * the operations that the library has: `list`, `ask`, `stream`, `tools`, `structured`, `image`.
 */
const MODULES = [
  ['./openai.mjs', /^openai/],
  ['./anthropic.mjs', /^@anthropic-ai/],
  ['./ai-sdk.mjs', /ai-sdk/],
  ['./agents.mjs', /^@openai/],
  ['./langgraph.mjs', /langgraph/],
  ['./langchain.mjs', /^@langchain/],
  ['./mastra.mjs', /^@mastra/],
  ['./instructor.mjs', /^@instructor-ai/],
  ['./llama-index.mjs', /^@llamaindex/],
  ['./hugging-face.mjs', /^@huggingface/],
  ['./genkit.mjs', /^@genkit/],
];

const connectTo = async (client) => {
  const [path] = MODULES.find(([, names]) => names.test(client)) ?? [];
  if (!path) throw new Error(`the driver does not know ${client}`);
  return (await import(path)).clients[client];
};

const play = async (order) => {
  const connect = await connectTo(order.client);
  const operation = (await connect(order))[order.operation];
  return operation ? await operation() : { missing: true };
};

for await (const line of createInterface(process.stdin)) {
  const report = await settle(play(JSON.parse(line)));
  process.stdout.write(`${JSON.stringify({ report })}\n`);
}
