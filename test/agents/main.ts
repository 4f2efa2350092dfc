import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogFields } from '../../lambdas/log-events.ts';
import { type LocalRouter, startLocal } from '../../local/start.ts';
import type { Agent, Desk } from './agent.ts';
import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { installAgents } from './install-agents.ts';
import { opencode } from './opencode.ts';
import { FILE_TEXT, type Outcome, SCENES, type Scene } from './scenes.ts';

const AGENTS: Agent[] = [claudeCode, codex, opencode('chat'), opencode('messages')];
const QUOTE = 200;

type Stage = { router: LocalRouter; requests: LogFields[]; root: string };
type Play = { agent: Agent; model: string; scene: Scene };

const print = (line: string) => process.stdout.write(`${line}\n`);

const makeDesk = (root: string): Desk => {
  const top = mkdtempSync(join(root, 'desk-'));
  const desk = { home: join(top, 'home'), folder: join(top, 'work') };
  for (const path of Object.values(desk)) mkdirSync(path);
  return desk;
};

const perform = async ({ router, requests, root }: Stage, play: Play): Promise<Outcome> => {
  const { agent, model, scene } = play;
  const desk = makeDesk(root);
  const file = join(desk.folder, 'note.txt');
  writeFileSync(file, `${FILE_TEXT}\n`);
  router.upstreams.reset();
  requests.length = 0;
  const upstreamModel = model.split('/').at(-1) ?? '';
  if (scene.fault) router.upstreams.inject({ ...scene.fault, model: upstreamModel });
  const key = await router.createKey(scene.plan ? { plan: scene.plan } : {});
  const { baseUrl } = router;
  const prompt = scene.prompt(agent.call, file);
  const answer = await agent.ask({ prompt, model, baseUrl, key, desk });
  const own = requests.filter((line) => line.model === model);
  const calls = router.upstreams.calls.filter((call) => call.model === upstreamModel);
  return {
    answer,
    statuses: own.map(({ status }) => Number(status)),
    upstreams: calls.map(({ protocol }) => protocol),
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
    play.scene.check(outcome);
    return true;
  } catch (error) {
    print(`FAIL ${play.scene.name}: ${error}`);
    return false;
  }
};

const performAll = async (stage: Stage): Promise<number> => {
  let failures = 0;
  for (const agent of AGENTS) {
    for (const { id: model, targets } of stage.router.models.slice(0, 2)) {
      print(`\n${agent.name} with ${model}, on an upstream that speaks ${targets[0]?.protocol}`);
      for (const scene of SCENES) {
        if (!(await review(stage, { agent, model, scene }))) failures += 1;
      }
    }
  }
  return failures;
};

await installAgents();
const root = mkdtempSync(join(tmpdir(), 'agents-'));
const requests: LogFields[] = [];
const router = await startLocal({
  delayMs: 5,
  log: {
    info: (event, fields) => {
      if (event === 'request') requests.push(fields);
    },
    warn: () => {},
    error: () => {},
  },
});
try {
  const failures = await performAll({ router, requests, root });
  print(`\nagents: ${failures} failures`);
  process.exitCode = failures > 0 ? 1 : 0;
} finally {
  await router.close();
  rmSync(root, { recursive: true, force: true });
}
