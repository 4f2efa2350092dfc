import * as z from 'zod';
import { type Agent, ASK_MS, offlineEnv } from './agent.ts';
import { commandOf } from './install-agents.ts';
import { run } from './run.ts';

const Result = z.object({ result: z.string(), is_error: z.boolean() });

/** Claude Code in print mode, set up as the README says. */
export const claudeCode: Agent = {
  name: 'Claude Code',
  call: {
    read: (file) => `call Read ${JSON.stringify({ file_path: file })}`,
    shell: (command) => `call Bash ${JSON.stringify({ command })}`,
  },
  ask: async ({ prompt, model, baseUrl, key, desk }) => {
    const args = ['--print', '--output-format', 'json', '--allowedTools', 'Bash,Read'];
    const { code, stdout, stderr } = await run(commandOf('claude'), args, {
      cwd: desk.folder,
      env: {
        ...offlineEnv(desk),
        ANTHROPIC_BASE_URL: baseUrl,
        ANTHROPIC_AUTH_TOKEN: key,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
        ANTHROPIC_DEFAULT_SONNET_MODEL: model,
        ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      },
      input: prompt,
      timeoutMs: ASK_MS,
    });
    if (stdout === '') throw new Error(`Claude Code ended with ${code} and no answer: ${stderr}`);
    const { result, is_error } = Result.parse(JSON.parse(stdout));
    return is_error ? { text: '', error: result } : { text: result, error: undefined };
  },
};
