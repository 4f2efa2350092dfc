import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { KEY, qwen } from '../../lambdas/clients.ts';
import { type Agent, ASK_MS, connectionOf, offlineEnv } from './agent.ts';
import { commandOf } from './install-agents.ts';
import { run } from './run.ts';

/** Its notes on a conversation are one more request of the same model. */
const SETTINGS = { memory: { enableManagedAutoMemory: false } };

const Lines = z.array(
  z.object({
    type: z.string(),
    result: z.string().optional(),
    error: z.object({ message: z.string() }).optional(),
  }),
);

/** Qwen Code with one prompt, configured by `npm run connect -- qwen`. */
export const qwenCode: Agent = {
  name: 'Qwen Code',
  package: '@qwen-code/qwen-code',
  endpoint: 'chat',
  reasoning: 'unsigned',
  call: {
    read: (file) => `call read_file ${JSON.stringify({ file_path: file })}`,
    shell: (command) => `call run_shell_command ${JSON.stringify({ command })}`,
  },
  ask: async ({ prompt, key, desk, ...ask }) => {
    const { variables } = qwen(connectionOf(ask));
    mkdirSync(join(desk.home, '.qwen'));
    writeFileSync(join(desk.home, '.qwen/settings.json'), JSON.stringify(SETTINGS));
    const args = ['--yolo', '--output-format', 'json'];
    const { stdout, stderr } = await run(commandOf('qwen'), args, {
      cwd: desk.folder,
      env: { ...offlineEnv(desk), ...variables, [KEY]: key, OPENAI_API_KEY: key },
      input: prompt,
      timeoutMs: ASK_MS,
    });
    if (stdout === '') throw new Error(`Qwen Code printed no result: ${stderr}`);
    const end = Lines.parse(JSON.parse(stdout)).at(-1);
    return { text: end?.result?.trim() ?? '', error: end?.error?.message };
  },
};
