import * as z from 'zod';
import { claude } from '../../lambdas/clients.ts';
import { type Agent, ASK_MS, connectionOf, offlineEnv } from './agent.ts';
import { commandOf } from './install-agents.ts';
import { run } from './run.ts';

const Result = z.object({ result: z.string(), is_error: z.boolean() });

/** Claude Code in print mode, configured by `npm run connect -- claude`. */
export const claudeCode: Agent = {
  name: 'Claude Code',
  package: '@anthropic-ai/claude-code',
  endpoint: 'messages',
  call: {
    read: (file) => `call Read ${JSON.stringify({ file_path: file })}`,
    shell: (command) => `call Bash ${JSON.stringify({ command })}`,
  },
  ask: async ({ prompt, key, desk, ...ask }) => {
    const { variables } = claude(connectionOf(ask));
    const args = ['--print', '--output-format', 'json', '--allowedTools', 'Bash,Read'];
    const { code, stdout, stderr } = await run(commandOf('claude'), args, {
      cwd: desk.folder,
      env: {
        ...offlineEnv(desk),
        ...variables,
        ANTHROPIC_AUTH_TOKEN: key,
      },
      input: prompt,
      timeoutMs: ASK_MS,
    });
    if (stdout === '') throw new Error(`Claude Code ended with ${code} and no answer: ${stderr}`);
    const { result, is_error } = Result.parse(JSON.parse(stdout));
    return is_error ? { text: '', error: result } : { text: result, error: undefined };
  },
};
