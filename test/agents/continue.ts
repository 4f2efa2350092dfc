import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { continueDev, KEY } from '../../lambdas/clients.ts';
import { type Agent, ASK_MS, connectionOf, offlineEnv } from './agent.ts';
import { commandOf } from './install-agents.ts';
import { run } from './run.ts';

/** Continue's command line with one prompt, configured by `npm run connect -- continue`. */
export const continueCli: Agent = {
  name: 'Continue',
  package: '@continuedev/cli',
  endpoint: 'chat',
  reasoning: 'dropped',
  call: {
    read: (file) => `call Read ${JSON.stringify({ filepath: file })}`,
    shell: (command) => `call Bash ${JSON.stringify({ command })}`,
  },
  ask: async ({ prompt, key, desk, ...ask }) => {
    const config = join(desk.home, 'router.yaml');
    writeFileSync(config, continueDev(connectionOf(ask)).file.text);
    const args = ['--print', '--auto', '--config', config];
    const { code, stdout, stderr } = await run(commandOf('cn'), args, {
      cwd: desk.folder,
      env: { ...offlineEnv(desk), [KEY]: key },
      input: prompt,
      timeoutMs: ASK_MS,
    });
    const text = stdout.trim();
    return code === 0 ? { text, error: undefined } : { text, error: stderr || stdout };
  },
};
