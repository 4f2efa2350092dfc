import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../lambdas/support/clock.ts';
import { startLocal } from '../../local/start.ts';
import { createAnthropicCache } from '../support/caching-provider/anthropic-cache.ts';
import { type Said, startCachingProvider } from '../support/caching-provider/server.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { type SentRequest, shorten } from '../support/sessions/shorten.ts';
import type { Agent, Desk } from './agent.ts';
import { claudeCode } from './claude-code.ts';
import { cline } from './cline.ts';
import { codex } from './codex.ts';
import { installAgents, versionOf } from './install-agents.ts';
import { opencode } from './opencode.ts';
import { startTap } from './tap.ts';

/**
 * Records what agents send in a session of many steps, for test/caches. Each works through the router on a model that asks
 * for one tool after another; the requests are kept without their words.
 */
const AGENTS: { agent: Agent; file: string; steps: number }[] = [
  { agent: claudeCode, file: 'claude-code', steps: 40 },
  { agent: codex, file: 'codex', steps: 64 },
  { agent: cline, file: 'cline', steps: 24 },
  { agent: opencode('chat'), file: 'opencode-chat', steps: 24 },
  { agent: opencode('messages'), file: 'opencode-messages', steps: 24 },
];

const FOLDER = fileURLToPath(new URL('../fixtures/sessions', import.meta.url));
const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};
/** By which a session or a client may be told, and what a provider reads. */
const HEADERS = [
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'thread-id',
  'x-client-request-id',
  'x-session-affinity',
  'x-session-id',
  'anthropic-beta',
  'anthropic-version',
  'user-agent',
];
const UPSTREAM = { upstream: 'anthropic', model: 'claude-sonnet-5' } as const;
const MODEL = 'anthropic/claude-sonnet-5';
const TITLES = 'cirrus/vista-3';

const wanted = process.argv.slice(2);

const readCall = (words: string) => {
  const [, name = '', args = ''] = /^call (\S+) (.*)$/s.exec(words) ?? [];
  return { name, arguments: args };
};

/** A step thinks every other time, and says something every third. */
const stepOf = ({ call }: Agent, desk: Desk, step: number): Said => ({
  ...(step % 2 === 0 && {
    thinking: { text: `Next is file ${step}. `.repeat(8), signature: `c2lnbmF0dXJl${step}` },
  }),
  text: step % 3 === 0 ? `I read file ${step}.` : '',
  calls: [{ id: `toolu_${step}`, ...readCall(call.read(join(desk.folder, `file-${step}.ts`))) }],
  finish: 'tool-calls',
});

const DONE: Said = { text: 'Done.', calls: [], finish: 'stop' };

const fill = (desk: Desk, steps: number) => {
  for (let step = 0; step < steps; step += 1) {
    const line = `export const value${step} = (input: string) => input.trim();\n`;
    writeFileSync(join(desk.folder, `file-${step}.ts`), line.repeat(20 + ((step * 17) % 60)));
  }
};

const makeDesk = (root: string): Desk => {
  const top = mkdtempSync(join(root, 'desk-'));
  const desk = { home: join(top, 'home'), folder: join(top, 'work') };
  for (const path of Object.values(desk)) mkdirSync(path);
  return desk;
};

/** Keeps the requests that have tools. */
const keepIn =
  (sent: SentRequest[]) =>
  ({ headers }: IncomingMessage, body: string) => {
    const value = JSON.parse(body);
    if (!(value.tools?.length > 0)) return;
    const kept = HEADERS.flatMap((name) => {
      const own = headers[name];
      return typeof own === 'string' ? [[name, own]] : [];
    });
    sent.push({ headers: Object.fromEntries(kept), body: value });
  };

const record = async ({ agent, file, steps }: (typeof AGENTS)[number], root: string) => {
  const desk = makeDesk(root);
  fill(desk, steps);
  let step = 0;
  const provider = await startCachingProvider({
    wire: 'messages',
    cache: createAnthropicCache(),
    clock: systemClock,
    answer: (_, body) => {
      if (!(JSON.parse(body).tools?.length > 0)) return DONE;
      step += 1;
      return step < steps ? stepOf(agent, desk, step) : DONE;
    },
  });
  const target = targetAt(provider.url, {
    ...UPSTREAM,
    protocol: 'messages',
    profile: { thinking: ['adaptive', 'disabled'] },
  });
  const router = await startLocal({
    catalog: [modelOn([target], { id: MODEL }), modelOn([target], { id: TITLES })],
    secrets: { secret: 'credential' },
    log: { info: () => {}, warn: () => {}, error: () => {} },
  });
  const sent: SentRequest[] = [];
  const tap = await startTap(router.baseUrl, PATHS[agent.endpoint], keepIn(sent));
  try {
    const key = await router.createKey({});
    const ask = { prompt: 'Read the files one by one.', model: MODEL, baseUrl: tap.url, key, desk };
    const answer = await agent
      .ask(ask)
      .catch((error: unknown) => ({ text: '', error: String(error) }));
    const client = {
      client: agent.name,
      version: versionOf(agent.package),
      path: PATHS[agent.endpoint],
    };
    const text = JSON.stringify(shorten(client, sent)).replaceAll(root, '/home/user');
    writeFileSync(join(FOLDER, `${file}.json`), `${text}\n`);
    process.stdout.write(
      `${agent.name}: ${sent.length} requests, ${text.length} bytes, ${answer.error ?? 'done'}\n`,
    );
  } finally {
    await tap.close();
    await router.close();
    await provider.close();
  }
};

await installAgents();
const root = mkdtempSync(join(tmpdir(), 'sessions-'));
try {
  for (const one of AGENTS) {
    if (wanted.length === 0 || wanted.includes(one.file)) await record(one, root);
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
