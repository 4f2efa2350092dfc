import { readdirSync } from 'node:fs';
import { ASK_MS, type Ask, offlineEnv } from './agent.ts';
import { run } from './run.ts';

/** aider 0.86.2, from the path that `AIDER` names: it has no tools, and a run sends one request with the files that it names. */
export const aider = {
  name: 'aider',
  version: '0.86.2',
  endpoint: 'chat' as const,
  call: { read: () => '', shell: () => '' },
  ask: async ({ prompt, key, model, baseUrl, desk }: Ask) => {
    const files = readdirSync(desk.folder).filter((name) => name.startsWith('file-'));
    for (let count = 1; count <= 7; count += 1) {
      const flags = ['--yes-always', '--no-git', '--no-check-update', '--no-show-model-warnings'];
      const args = [
        '--model',
        `openai/${model}`,
        '--message',
        prompt,
        ...flags,
        '--analytics-disable',
      ];
      await run(process.env.AIDER ?? 'aider', [...args, ...files.slice(0, 3 * count)], {
        cwd: desk.folder,
        env: { ...offlineEnv(desk), OPENAI_API_BASE: `${baseUrl}/v1`, OPENAI_API_KEY: key },
        input: '',
        timeoutMs: ASK_MS,
      });
    }
  },
};
