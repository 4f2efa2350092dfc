import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { codex as codexConfiguration, KEY } from '../../lambdas/clients.ts';
import { type Agent, ASK_MS, connectionOf, offlineEnv } from './agent.ts';
import { commandOf } from './install-agents.ts';
import { run } from './run.ts';

const OVERRIDES = ['approval_policy="never"', 'sandbox_mode="danger-full-access"'].flatMap(
  (override) => ['-c', override],
);

const Line = z.object({
  type: z.string(),
  item: z.object({ type: z.string(), text: z.string().optional() }).optional(),
  error: z.object({ message: z.string() }).optional(),
});

const shell = (command: string) => `call exec_command ${JSON.stringify({ cmd: command })}`;
const patch = (text: string) => `call apply_patch ${JSON.stringify({ input: text })}`;

/**
 * Codex's `exec`, which takes one prompt, configured by `npm run connect -- codex`; it speaks the responses
 * protocol only.
 */
export const codex: Agent = {
  name: 'Codex',
  package: '@openai/codex',
  endpoint: 'responses',
  // It repeats any status as often as `stream_max_retries` in what `connect` writes.
  denials: 3,
  call: { read: (file) => shell(`cat ${file}`), shell },
  ask: async (ask) => {
    const { file } = codexConfiguration(connectionOf(ask));
    writeFileSync(join(ask.desk.home, 'config.toml'), file.text);
    const args = ['exec', '--json', '--skip-git-repo-check', ...OVERRIDES, '-'];
    const { code, stdout, stderr } = await run(commandOf('codex'), args, {
      cwd: ask.desk.folder,
      env: { ...offlineEnv(ask.desk), CODEX_HOME: ask.desk.home, [KEY]: ask.key },
      input: ask.prompt,
      timeoutMs: ASK_MS,
    });
    if (code === null) throw new Error(`Codex did not end:\n${stdout}\n${stderr}`);
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    const events = lines.map((line) => Line.parse(JSON.parse(line)));
    const texts = events.flatMap(({ item }) =>
      item?.type === 'agent_message' ? [item.text ?? ''] : [],
    );
    return { text: texts.join(''), error: events.find(({ error }) => error)?.error?.message };
  },
};

/** Codex with a model that it knows, for which it has a custom tool. */
export const codexWithPatches: Agent = {
  ...codex,
  name: 'Codex with apply_patch',
  modelName: 'gpt-5.5',
  call: { ...codex.call, patch },
};
