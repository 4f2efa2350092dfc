import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { KEY, pi as piConfiguration } from '../../lambdas/clients.ts';
import { type Agent, ASK_MS, connectionOf, offlineEnv } from './agent.ts';
import { commandOf } from './install-agents.ts';
import { run } from './run.ts';

const Line = z.object({
  type: z.string(),
  message: z
    .object({
      role: z.string(),
      content: z.array(z.object({ type: z.string(), text: z.string().optional() })),
      errorMessage: z.string().optional(),
    })
    .optional(),
});

/** pi with one prompt, configured by `npm run connect -- pi`. */
export const pi: Agent = {
  name: 'pi',
  package: '@mariozechner/pi-coding-agent',
  endpoint: 'chat',
  reasoning: 'unsigned',
  call: {
    read: (file) => `call read ${JSON.stringify({ path: file })}`,
    shell: (command) => `call bash ${JSON.stringify({ command })}`,
  },
  ask: async ({ prompt, key, desk, ...ask }) => {
    const { file, code } = piConfiguration(connectionOf(ask));
    const path = file.path.replace('~', desk.home);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.text);
    const [, ...args] = code.split(' ');
    const { stdout, stderr } = await run(
      commandOf('pi'),
      [...args, '--print', '--mode', 'json', '--offline'],
      {
        cwd: desk.folder,
        env: { ...offlineEnv(desk), [KEY]: key },
        input: prompt,
        timeoutMs: ASK_MS,
      },
    );
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    const turns = lines
      .map((line) => Line.parse(JSON.parse(line)))
      .filter(({ type }) => type === 'turn_end');
    const end = turns.at(-1)?.message;
    if (!end) throw new Error(`pi printed no turn: ${stderr}`);
    const texts = end.content.map(({ text }) => text ?? '');
    return { text: texts.join(''), error: end.errorMessage };
  },
};
