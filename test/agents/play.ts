import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import defaultModels from '../../lambdas/catalog/models.json' with { type: 'json' };
import { type Model, parseModels } from '../../lambdas/catalog/parse-models.ts';
import type { LogFields } from '../../lambdas/log-events.ts';
import { type LocalRouter, startLocal } from '../../local/start.ts';
import type { Agent, Desk } from './agent.ts';
import { isSpender, keyUnderBudget } from './budgets.ts';
import { claudeCode } from './claude-code.ts';
import { cline } from './cline.ts';
import { codex, codexWithPatches } from './codex.ts';
import { continueCli } from './continue.ts';
import { opencode } from './opencode.ts';
import { pi } from './pi.ts';
import { qwenCode } from './qwen-code.ts';
import { FILE_TEXT, type Outcome, type Scene, scenesOf } from './scenes.ts';

/** Every agent that is driven. */
export const AGENTS: Agent[] = [
  claudeCode,
  codex,
  codexWithPatches,
  opencode('chat'),
  opencode('messages'),
  qwenCode,
  cline,
  continueCli,
  pi,
];
/** At prices of which the smallest budget is less than any request. */
const DEFAULTS = parseModels(
  defaultModels.map((model) => ({ ...model, input_price_per_m: 60, output_price_per_m: 220 })),
);
const QUOTE = 200;

export type Stage = { router: LocalRouter; requests: LogFields[]; root: string };
type Play = { agent: Agent; model: string; scene: Scene };

export const print = (line: string) => process.stdout.write(`${line}\n`);

const makeDesk = (root: string): Desk => {
  const top = mkdtempSync(join(root, 'desk-'));
  const desk = { home: join(top, 'home'), folder: join(top, 'work') };
  for (const path of Object.values(desk)) mkdirSync(path);
  return desk;
};

/** The two models that an agent is tried with: one on a chat upstream, one on a messages upstream. */
const modelsOf = ({ modelName }: Agent): Model[] =>
  DEFAULTS.slice(0, 2).map((model) => {
    if (modelName === undefined) return model;
    const targets = model.targets.map((target) => ({ ...target, model: modelName }));
    return { ...model, id: `${model.owned_by}/${modelName}`, targets };
  });

const perform = async ({ router, requests, root }: Stage, play: Play): Promise<Outcome> => {
  const { agent, model, scene } = play;
  const desk = makeDesk(root);
  const file = join(desk.folder, 'note.txt');
  writeFileSync(file, `${FILE_TEXT}\n`);
  const { baseUrl } = router;
  const key = scene.budget
    ? await keyUnderBudget(scene.budget, { baseUrl, model })
    : await router.createKey(scene.plan ? { plan: scene.plan } : {});
  router.upstreams.reset();
  requests.length = 0;
  const upstreamModel = model.split('/').at(-1) ?? '';
  if (scene.fault) router.upstreams.inject({ ...scene.fault, model: upstreamModel });
  const prompt = scene.prompt(agent.call, file);
  const answer = await agent.ask({ prompt, model, baseUrl, key, desk });
  const own = requests.filter((line) => line.model === model && !isSpender(line.keyId ?? ''));
  const calls = router.upstreams.calls.filter((call) => call.model === upstreamModel);
  return {
    answer,
    statuses: own.map(({ status }) => Number(status)),
    upstreams: calls.map(({ protocol }) => protocol),
    sent: calls.map(({ body }) => JSON.stringify(body)),
    fileText: readFileSync(file, 'utf8'),
  };
};

const quoted = ({ answer, statuses, upstreams }: Outcome): string => {
  const said = answer.error === undefined ? answer.text : `error: ${answer.error}`;
  const short = said.replaceAll(/\s+/g, ' ').slice(0, QUOTE);
  return `[${statuses.join(' ')}] [${upstreams.join(' ')}] ${short}`;
};

/** Whether it went as it must; the line it prints is the transcript. */
const review = async (stage: Stage, play: Play): Promise<boolean> => {
  try {
    const outcome = await perform(stage, play);
    print(`     ${play.scene.name}: ${quoted(outcome)}`);
    play.scene.check(outcome, play.agent);
    return true;
  } catch (error) {
    print(`FAIL ${play.scene.name}: ${error}`);
    return false;
  }
};

/** The names of the scenes that failed, one for each model. */
export const performAgent = async (stage: Stage, agent: Agent): Promise<string[]> => {
  const failures: string[] = [];
  for (const { id: model, targets } of modelsOf(agent)) {
    const { name, endpoint } = agent;
    print(`\n${name} (${endpoint}), ${model} on an upstream that speaks ${targets[0]?.protocol}`);
    for (const scene of scenesOf(agent)) {
      if (!(await review(stage, { agent, model, scene }))) failures.push(scene.name);
    }
  }
  return failures;
};

/** A local router whose requests are noted, and a folder for the agents' homes, while `use` plays on them. */
export const withStage = async <T>(use: (stage: Stage) => Promise<T>): Promise<T> => {
  const root = mkdtempSync(join(tmpdir(), 'agents-'));
  const requests: LogFields[] = [];
  const router = await startLocal({
    delayMs: 5,
    catalog: [...DEFAULTS, ...modelsOf(codexWithPatches)],
    log: {
      info: (event, fields) => {
        if (event === 'request') requests.push(fields);
      },
      warn: () => {},
      error: () => {},
    },
  });
  try {
    return await use({ router, requests, root });
  } finally {
    await router.close();
    rmSync(root, { recursive: true, force: true });
  }
};
