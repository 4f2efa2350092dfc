import { readFileSync } from 'node:fs';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatAnthropic } from '@langchain/anthropic';
import {
  OpenAIProvider,
  Runner,
  Agent as SdkAgent,
  tool as sdkTool,
  setTracingDisabled,
} from '@openai/agents';
import { generateText, isStepCount, tool } from 'ai';
import OpenAI from 'openai';
import * as z from 'zod';
import type { Agent, Ask } from './agent.ts';

/** Agents that are written with an SDK: with tools of nested members, lists of objects and enumerations. */
export type SdkAgentClient = Pick<Agent, 'name' | 'endpoint' | 'call'> & {
  package: string;
  ask(ask: Ask & { instructions: string }): Promise<unknown>;
};

const address = z.object({
  street: z.string().describe('Street and number, as on a letter'),
  city: z.string(),
  postalCode: z.string().describe('Postal code, without the country'),
  country: z.enum(['AT', 'CH', 'DE', 'FR', 'IT', 'NL', 'PL', 'US']),
});
const range = z
  .object({
    from: z.string().describe('First day, as YYYY-MM-DD'),
    to: z.string().describe('Last day, as YYYY-MM-DD'),
  })
  .describe('A range of days, both included');

const TOOLS = {
  read_file: {
    description:
      'Reads a file of the workspace and returns its text. Ask for a part of a file that is long.',
    schema: z.object({
      path: z.string().describe('Path of the file, from the root of the workspace'),
    }),
  },
  create_order: {
    description:
      'Creates an order for a customer. Prices are in cents. The order is not sent before it is confirmed; it can be changed until then.',
    schema: z.object({
      customer: z.object({ id: z.string().describe('Number of the customer'), address }),
      items: z
        .array(
          z.object({
            sku: z.string().describe('Number of the article, such as AB-1234'),
            quantity: z.number().int().describe('How many of it'),
            unitPrice: z.number().int().describe('Price of one, in cents'),
            options: z.array(z.object({ name: z.string(), value: z.string() })),
          }),
        )
        .describe('What is ordered, one entry for each article'),
      shipping: z.enum(['standard', 'express', 'pickup']).describe('How it is sent'),
    }),
  },
  search_orders: {
    description: 'Finds orders by customer, state and day, the newest first. Returns 50 at most.',
    schema: z.object({
      customerId: z.string(),
      states: z.array(z.enum(['draft', 'confirmed', 'packed', 'sent', 'returned', 'cancelled'])),
      range,
      sort: z.object({ by: z.enum(['created', 'total', 'state']), isDescending: z.boolean() }),
    }),
  },
  query_metrics: {
    description:
      'Queries metrics of a service and returns one series for each group. Use it to compare before and after a change.',
    schema: z.object({
      service: z.string().describe('Name of the service'),
      metrics: z.array(
        z.object({
          name: z.string(),
          statistic: z.enum(['average', 'sum', 'minimum', 'maximum', 'p50', 'p90', 'p99']),
          filters: z.array(
            z.object({
              label: z.string(),
              operator: z.enum(['=', '!=', 'matches', 'in']),
              values: z.array(z.string()),
            }),
          ),
        }),
      ),
      range,
      stepSeconds: z.number().int().describe('Seconds between two points'),
    }),
  },
  create_event: {
    description: 'Creates an event in a calendar and invites people. It fails if a room is taken.',
    schema: z.object({
      title: z.string(),
      starts: z.string().describe('Date and time with its zone'),
      minutes: z.number().int(),
      attendees: z.array(z.object({ email: z.string(), isOptional: z.boolean() })),
      repeats: z.object({
        every: z.enum(['day', 'week', 'month', 'year']),
        count: z.number().int().describe('How often in all'),
      }),
      place: address,
    }),
  },
  update_ticket: {
    description:
      'Changes a ticket: its state, its labels, who works on it. Fields that are not named stay.',
    schema: z.object({
      id: z.number().int(),
      state: z.enum(['open', 'in progress', 'in review', 'done', 'rejected']),
      priority: z.enum(['low', 'normal', 'high', 'urgent']),
      labels: z.array(z.string()).describe('All labels; others are removed'),
      assignee: z.object({ kind: z.enum(['person', 'team']), name: z.string() }),
      comment: z.string().describe('What is written below the ticket, in Markdown'),
    }),
  },
  run_query: {
    description:
      'Runs a read-only SQL query on the reporting database and returns up to 200 rows as a table.',
    schema: z.object({
      sql: z.string().describe('One SELECT statement'),
      parameters: z.array(z.object({ name: z.string(), value: z.string() })),
      timeoutSeconds: z.number().int(),
    }),
  },
  send_message: {
    description: 'Sends a message to a channel or a person, with files if there are any.',
    schema: z.object({
      to: z.array(z.string()).describe('Channels with #, people with @'),
      text: z.string(),
      attachments: z.array(
        z.object({ title: z.string(), path: z.string(), kind: z.enum(['image', 'text', 'table']) }),
      ),
    }),
  },
};
const NAMES = Object.entries(TOOLS);
const STEPS = 40;
const read = (file: string) => `call read_file ${JSON.stringify({ path: file })}`;
const call = { read, shell: read };
const perform = async (input: unknown): Promise<string> =>
  readFileSync(z.object({ path: z.string() }).parse(input).path, 'utf8');

export const SDKS: SdkAgentClient[] = [
  {
    name: 'AI SDK',
    package: 'ai',
    endpoint: 'chat',
    call,
    ask: ({ baseUrl, key, model, prompt, instructions }) =>
      generateText({
        model: createOpenAICompatible({ baseURL: `${baseUrl}/v1`, apiKey: key, name: 'router' })(
          model,
        ),
        instructions,
        prompt,
        stopWhen: isStepCount(STEPS),
        tools: Object.fromEntries(
          NAMES.map(([name, { description, schema }]) => [
            name,
            tool({ description, inputSchema: schema as z.ZodObject, execute: perform }),
          ]),
        ),
      }),
  },
  {
    name: 'LangChain',
    package: '@langchain/anthropic',
    endpoint: 'messages',
    call,
    ask: async ({ baseUrl, key, model, prompt, instructions }) => {
      const bound = new ChatAnthropic({ model, apiKey: key, anthropicApiUrl: baseUrl }).bindTools(
        NAMES.map(([name, tool]) => ({ name, ...tool })),
      );
      const messages: Parameters<typeof bound.invoke>[0] & unknown[] = [
        ['system', instructions],
        ['user', prompt],
      ];
      for (let step = 0; step < STEPS; step += 1) {
        const answer = await bound.invoke(messages);
        messages.push(answer);
        const calls = answer.tool_calls ?? [];
        if (calls.length === 0) return;
        for (const { id = '', args } of calls) {
          messages.push({ role: 'tool', tool_call_id: id, content: await perform(args) });
        }
      }
    },
  },
  {
    name: 'OpenAI Agents SDK',
    package: '@openai/agents',
    endpoint: 'responses',
    call,
    ask: ({ baseUrl, key, model, prompt, instructions }) => {
      setTracingDisabled(true);
      const openAIClient = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: key });
      const tools = NAMES.map(([name, { description, schema }]) =>
        sdkTool({ name, description, parameters: schema as z.ZodObject, execute: perform }),
      );
      const agent = new SdkAgent({ name: 'Desk', instructions, model, tools });
      const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient }) });
      return runner.run(agent, prompt, { maxTurns: STEPS });
    },
  },
];
