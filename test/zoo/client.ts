/** Languages whose toolchain installs and runs a driver. */
export type Language = 'JavaScript' | 'Python' | 'Go' | 'Rust' | 'Java';

/** A library that people call models with, on one of the router's endpoints. */
export type Client = {
  language: Language;
  /** As its registry names it; the version is that of the driver's manifest. */
  package: string;
  endpoint: 'chat' | 'messages' | 'responses';
};

/** The name by which a driver knows it. */
export const idOf = ({ package: name, endpoint }: Client): string => `${name} ${endpoint}`;

export const OPERATIONS = ['list', 'ask', 'stream', 'tools', 'structured', 'image'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** What a driver is to do: one line of JSON on its standard input. */
export type Order = {
  client: string;
  operation: Operation;
  baseUrl: string;
  key: string;
  model: string;
  prompt: string;
  /** Abort after the first piece of text. */
  cancel: boolean;
};

/** What came of it: one line of JSON on the driver's standard output. */
export type Report = {
  text?: string;
  /** Pieces of text of a stream. */
  pieces?: number;
  /** Tool calls in order: `get_weather(Oslo)`. */
  called?: string[];
  /** The object of a structured answer. */
  value?: unknown;
  models?: string[];
  usage?: { input: number; output: number };
  error?: { status?: number; message: string };
  /** The library has no such operation. */
  missing?: boolean;
};

const on = (language: Language, name: string, ...endpoints: Client['endpoint'][]): Client[] =>
  endpoints.map((endpoint) => ({ language, package: name, endpoint }));

export const CLIENTS: Client[] = [
  ...on('JavaScript', 'openai', 'chat', 'responses'),
  ...on('JavaScript', 'openai-5', 'chat', 'responses'),
  ...on('JavaScript', '@anthropic-ai/sdk', 'messages'),
  ...on('JavaScript', '@anthropic-ai/sdk-0', 'messages'),
  ...on('JavaScript', '@ai-sdk/openai', 'responses', 'chat'),
  ...on('JavaScript', '@ai-sdk/openai-compatible', 'chat'),
  ...on('JavaScript', '@ai-sdk/anthropic', 'messages'),
  ...on('JavaScript', '@openrouter/ai-sdk-provider', 'chat'),
  ...on('JavaScript', '@openai/agents', 'responses', 'chat'),
  ...on('JavaScript', '@langchain/openai', 'chat', 'responses'),
  ...on('JavaScript', '@langchain/anthropic', 'messages'),
  ...on('JavaScript', '@langchain/langgraph', 'chat'),
  ...on('JavaScript', '@mastra/core', 'chat'),
  ...on('JavaScript', '@instructor-ai/instructor', 'chat'),
  ...on('JavaScript', '@llamaindex/openai', 'chat'),
  ...on('JavaScript', '@huggingface/inference', 'chat'),
  ...on('JavaScript', '@genkit-ai/compat-oai', 'chat'),
  ...on('Python', 'openai', 'chat', 'responses'),
  ...on('Python', 'anthropic', 'messages'),
  ...on('Python', 'litellm', 'chat', 'messages', 'responses'),
  ...on('Python', 'openai-agents', 'responses', 'chat'),
  ...on('Python', 'langchain-openai', 'chat', 'responses'),
  ...on('Python', 'langchain-anthropic', 'messages'),
  ...on('Python', 'llama-index-llms-openai-like', 'chat'),
  ...on('Python', 'pydantic-ai-slim', 'chat', 'responses', 'messages'),
  ...on('Python', 'instructor', 'chat', 'messages'),
  ...on('Python', 'smolagents', 'chat'),
  ...on('Python', 'haystack-ai', 'chat'),
  ...on('Python', 'agno', 'chat', 'messages'),
  ...on('Go', 'github.com/openai/openai-go/v3', 'chat', 'responses'),
  ...on('Go', 'github.com/anthropics/anthropic-sdk-go', 'messages'),
  ...on('Go', 'github.com/sashabaranov/go-openai', 'chat'),
  ...on('Go', 'github.com/tmc/langchaingo', 'chat', 'messages'),
  ...on('Rust', 'async-openai', 'chat', 'responses'),
  ...on('Rust', 'genai', 'chat', 'messages'),
  ...on('Java', 'com.openai:openai-java', 'chat', 'responses'),
  ...on('Java', 'com.anthropic:anthropic-java', 'messages'),
  ...on('Java', 'dev.langchain4j:langchain4j-open-ai', 'chat'),
  ...on('Java', 'dev.langchain4j:langchain4j-anthropic', 'messages'),
];

/**
 * Where a client itself does what a scene forbids: `client: { scene: reason }`. The scene is expected to
 * fail there, and a run says so when it no longer does.
 */
export const DEVIATIONS: Record<string, Record<string, string>> = {
  '@langchain/anthropic messages': {
    'usage of a stream':
      'it adds up the counts of the first and of the last event, where the last are the totals',
  },
  'github.com/tmc/langchaingo chat': {
    'broken stream raises': 'it ignores events that hold an error',
  },
  'github.com/tmc/langchaingo messages': {
    'parallel tools': 'it sends back the first of several calls only',
  },
};
