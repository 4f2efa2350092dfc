import type { Connection } from '../../lambdas/clients.ts';
import type { AgentPackage } from './install-agents.ts';

/** A fresh home and a folder to work in; both are thrown away. */
export type Desk = { home: string; folder: string };

export type Ask = {
  prompt: string;
  /** The id of a model in the router's catalog. */
  model: string;
  baseUrl: string;
  key: string;
  desk: Desk;
};

export type AgentAnswer = {
  text: string;
  /** What it complained of; an answer may follow all the same. */
  error: string | undefined;
};

/** A coding agent that is run once per prompt, without a person. */
export type Agent = {
  name: string;
  package: AgentPackage;
  endpoint: 'chat' | 'messages' | 'responses';
  /** Last part of the ids of its models, if the agent chooses its tools by it. */
  modelName?: string;
  /** Calls of one request that is denied. @default 1 */
  denials?: number;
  /** What it sends back of its reasoning, if that is not all: a messages upstream requires the signature. */
  reasoning?: 'unsigned' | 'dropped';
  /** The prompt's words for calling its tools, as the embedded model understands them. */
  call: {
    read(file: string): string;
    shell(command: string): string;
    /** A custom tool, whose input is one text in a grammar. */
    patch?(text: string): string;
  };
  ask(ask: Ask): Promise<AgentAnswer>;
};

/** What `npm run connect` configures a client with. */
export const connectionOf = ({ baseUrl, model }: Pick<Ask, 'baseUrl' | 'model'>): Connection => ({
  url: baseUrl,
  model,
  context: 200_000,
  output: 32_000,
});

/** An agent that hangs is a failure like any other. */
export const ASK_MS = 120_000;

/** Nothing of the developer's own environment, and no way to anywhere but this machine. */
export const offlineEnv = ({ home }: Desk): NodeJS.ProcessEnv => ({
  HOME: home,
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1,localhost',
});
