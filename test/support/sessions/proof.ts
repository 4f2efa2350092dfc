/** What sessions cost at a provider with a prompt cache, by its own log: judged by test/caches, printed by bench/caches.ts. */
import {
  ANTHROPIC,
  type Billed,
  billedInput,
  OPENAI,
  type Prices,
  unmarkedInput,
} from '../caching-provider/bill.ts';
import {
  directBodies,
  MODEL,
  play,
  playDirect,
  recorded,
  type Session,
  type Stage,
  type StageOptions,
} from './play.ts';
import { loopAnswer, runLoop } from './sdk-loop.ts';

export type Proof = {
  kind: 'marks' | 'unmarked' | 'loop' | 'keyed' | 'single';
  name: string | number;
  on: string;
  options: StageOptions;
  /** Plays the session, and returns what its input is compared with, in prices of a fresh token. */
  play(stage: Stage): Promise<number>;
  of: string;
  most: number;
};

export const logOf = ({ providers }: Pick<Stage, 'providers'>): Billed[] =>
  providers.flatMap(({ log }) => log);

const MESSAGES: StageOptions = { wire: 'messages' };
const CHAT: StageOptions = { wire: 'chat' };

const pricesOf = ({ wire }: StageOptions): Prices => (wire === 'chat' ? OPENAI : ANTHROPIC);

const marked = (name: string): Proof => ({
  ...{ kind: 'marks', name, on: 'Claude', options: MESSAGES, of: 'direct', most: 1.02 },
  play: async (stage) => {
    const session = recorded(name);
    await play(stage, session);
    return billedInput(await playDirect(directBodies(session), MESSAGES), ANTHROPIC);
  },
});

const unmarked = (name: string, most: number): Proof => ({
  ...{ kind: 'unmarked', name, on: 'Claude', options: MESSAGES, of: 'unmarked', most },
  play: async (stage) => {
    await play(stage, recorded(name));
    return unmarkedInput(logOf(stage));
  },
});

const loop = (steps: number, most: number): Proof => ({
  ...{ kind: 'loop', name: steps, on: 'Claude', of: 'unmarked', most },
  options: { ...MESSAGES, answer: loopAnswer(steps) },
  play: async (stage) => {
    await runLoop(stage, MODEL);
    return unmarkedInput(logOf(stage));
  },
});

const KEYED: Proof = {
  ...{ kind: 'keyed', name: 'claude-code', on: 'GPT', options: CHAT, most: 1.02 },
  of: 'direct with a key',
  play: async (stage) => {
    await play(stage, recorded('claude-code'));
    const bodies = logOf(stage).map(({ body }) =>
      JSON.stringify({ ...JSON.parse(body), prompt_cache_key: 'session' }),
    );
    return billedInput(await playDirect(bodies, CHAT), OPENAI);
  },
};

const singleTurns = (path: string): Session => {
  const bodyOf = (at: number) => {
    const turns = [{ role: 'user', content: `question ${at} `.padEnd(40_000, 'lorem ipsum ') }];
    return {
      model: MODEL,
      ...(path.endsWith('responses') ? { input: turns } : { messages: turns, max_tokens: 100 }),
    };
  };
  return {
    path,
    requests: Array.from({ length: 4 }, (_, at) => ({ headers: {}, body: bodyOf(at) })),
  };
};

const single = (path: string): Proof => ({
  ...{ kind: 'single', name: path, on: 'Claude', options: MESSAGES, of: 'unmarked', most: 1 },
  play: async (stage) => {
    await play(stage, singleTurns(path));
    return unmarkedInput(logOf(stage));
  },
});

const PROOFS: Proof[] = [
  marked('claude-code'),
  marked('opencode-messages'),
  unmarked('codex', 0.14),
  unmarked('cline', 0.25),
  unmarked('opencode-chat', 0.25),
  loop(16, 0.25),
  loop(64, 0.14),
  KEYED,
  ...['/v1/chat/completions', '/v1/messages', '/v1/responses'].map(single),
];

export const proofsOf = (kind?: Proof['kind']): Proof[] =>
  PROOFS.filter((proof) => kind === undefined || proof.kind === kind);

/** Billed input of the session through the router, to what it is compared with. */
export const ratioOf = async (stage: Stage, proof: Proof): Promise<number> => {
  const base = await proof.play(stage);
  return billedInput(logOf(stage), pricesOf(proof.options)) / base;
};
