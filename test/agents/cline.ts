import * as z from 'zod';
import { type Agent, ASK_MS, type Ask, offlineEnv } from './agent.ts';
import { commandOf } from './install-agents.ts';
import { type Ran, run } from './run.ts';

const Line = z.object({
  type: z.string(),
  finishReason: z.string().optional(),
  text: z.string().optional(),
  message: z.string().optional(),
});

const runCline = ({ desk, prompt }: Ask, args: string[]): Promise<Ran> =>
  run(commandOf('cline'), args, {
    cwd: desk.folder,
    // Otherwise it starts a daemon, which stays.
    env: { ...offlineEnv(desk), CLINE_SESSION_BACKEND_MODE: 'local' },
    input: prompt,
    timeoutMs: ASK_MS,
  });

/** Cline's command line with one prompt, configured by the command of `npm run connect -- cline`. */
export const cline: Agent = {
  name: 'Cline',
  package: 'cline',
  endpoint: 'chat',
  reasoning: 'unsigned',
  call: {
    read: (file) => `call read_files ${JSON.stringify({ files: [{ path: file }] })}`,
    shell: (command) => `call run_commands ${JSON.stringify({ commands: [command] })}`,
  },
  ask: async (ask) => {
    const { baseUrl, model, key, prompt } = ask;
    const settings = ['-p', 'openai', '-k', key, '-m', model, '-b', `${baseUrl}/v1`];
    await runCline(ask, ['auth', ...settings]);
    const { stdout, stderr } = await runCline(ask, ['--json', prompt]);
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    const end = lines.map((line) => Line.parse(JSON.parse(line))).at(-1);
    if (!end) throw new Error(`Cline printed no result: ${stderr}`);
    const isDone = end.type === 'run_result' && end.finishReason === 'completed';
    return isDone
      ? { text: end.text ?? '', error: undefined }
      : { text: '', error: end.message ?? end.text ?? end.finishReason };
  },
};
