import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../lambdas/support/clock.ts';
import { startLocal } from '../../local/start.ts';
import { createAnthropicCache } from '../support/caching-provider/anthropic-cache.ts';
import { type Said, startCachingProvider } from '../support/caching-provider/server.ts';
import { modelOn, targetAt } from '../support/models.ts';
import type { Agent, Desk } from './agent.ts';
import { aider } from './aider.ts';
import { codexWithPatches } from './codex.ts';
import { installAgents, versionOf } from './install-agents.ts';
import { AGENTS } from './play.ts';
import { SDKS } from './sdks.ts';
import { startTap } from './tap.ts';

/**
 * Records whole requests of clients, for the table of docs/decisions/0005-token-estimate.md: what each sends the router in a
 * session that reads this project's files, and what the router sends a chat provider for it. Into a folder, since the words are
 * their authors': `node test/agents/record-counts.ts FOLDER [client…]`.
 */
const STEPS = 24;
const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};
const MODEL = 'anthropic/claude-sonnet-5';
const [folder = 'recorded', ...wanted] = process.argv.slice(2);

const root = fileURLToPath(new URL('../../', import.meta.url));
const FILES = readdirSync(join(root, 'lambdas'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .sort()
  .filter((_, index) => index % 11 === 0)
  .slice(0, STEPS);
const INSTRUCTIONS = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').slice(0, 6_000);
const DONE: Said = { text: 'Done.', calls: [], finish: 'stop' };

const makeDesk = (top: string): Desk => {
  const desk = { home: join(top, 'home'), folder: join(top, 'work') };
  for (const path of Object.values(desk)) mkdirSync(path, { recursive: true });
  for (const [index, name] of FILES.entries()) {
    writeFileSync(join(desk.folder, `file-${index}.ts`), readFileSync(join(root, 'lambdas', name)));
  }
  return desk;
};

/** Calls the client's tool for reading; says something every third time. */
const stepOf = ({ call }: Pick<Agent, 'call'>, desk: Desk, step: number): Said => {
  const words = call.read(join(desk.folder, `file-${step}.ts`));
  const [, name = '', args = ''] = /^call (\S+) (.*)$/s.exec(words) ?? [];
  return {
    text: step % 3 === 0 ? `I read file ${step}, which the next one depends on.` : '',
    calls: [{ id: `toolu_${step}`, name, arguments: args }],
    finish: 'tool-calls',
  };
};

type Client = Pick<Agent, 'name' | 'endpoint' | 'call'> & {
  version: string;
  hasTools: boolean;
  ask(ask: Parameters<Agent['ask']>[0] & { instructions: string }): Promise<unknown>;
};
const require = createRequire(import.meta.url);
const CLIENTS: Client[] = [
  ...AGENTS.filter((agent) => agent !== codexWithPatches).map((agent) => ({
    ...agent,
    version: versionOf(agent.package),
    hasTools: true,
  })),
  ...SDKS.map((sdk) => {
    const manifest = join(root, 'node_modules', sdk.package, 'package.json');
    return { ...sdk, version: require(manifest).version, hasTools: true };
  }),
  { ...aider, hasTools: false },
];

const record = async (client: Client, top: string) => {
  const desk = makeDesk(top);
  const isKept = (body: { tools?: unknown[]; messages?: unknown[] }) =>
    !client.hasTools || (body.tools?.length ?? 0) > 0;
  const asked: object[] = [];
  const sent: object[] = [];
  let step = -1;
  const provider = await startCachingProvider({
    wire: 'chat',
    cache: createAnthropicCache(),
    clock: systemClock,
    answer: (_, text) => {
      const body = JSON.parse(text);
      if (!isKept(body)) return DONE;
      sent.push(body);
      step += 1;
      return client.hasTools && step < STEPS ? stepOf(client, desk, step) : DONE;
    },
  });
  const target = targetAt(provider.url, {
    upstream: 'vendor',
    model: 'claude-sonnet-5',
    protocol: 'chat',
  });
  const router = await startLocal({
    catalog: [modelOn([target], { id: MODEL }), modelOn([target], { id: 'cirrus/vista-3' })],
    secrets: { secret: 'credential' },
    log: { info: () => {}, warn: () => {}, error: () => {} },
  });
  const tap = await startTap(router.baseUrl, PATHS[client.endpoint], (_, text) => {
    const body = JSON.parse(text);
    if (isKept(body)) asked.push(body);
  });
  try {
    const key = await router.createKey({});
    const ask = { prompt: 'Read the files one by one.', model: MODEL, baseUrl: tap.url, key, desk };
    const answer = await client.ask({ ...ask, instructions: INSTRUCTIONS }).catch(String);
    const { name, version, endpoint } = client;
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${name} ${endpoint}.json`.replaceAll(' ', '-'));
    writeFileSync(file, JSON.stringify({ client: name, version, endpoint, asked, sent }));
    process.stdout.write(
      `${name} ${endpoint}: ${asked.length}, ${sent.length} ${JSON.stringify(answer)?.slice(0, 200)}\n`,
    );
  } finally {
    await tap.close();
    await router.close();
    await provider.close();
  }
};

await installAgents();
const desks = mkdtempSync(join(tmpdir(), 'count-'));
try {
  for (const [index, client] of CLIENTS.entries()) {
    if (wanted.length > 0 && !wanted.includes(client.name)) continue;
    await record(client, join(desks, String(index)));
  }
} finally {
  rmSync(desks, { recursive: true, force: true });
}
process.exit(0);
