import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { KEY, opencode as opencodeConfiguration } from '../../lambdas/clients.ts';
import { type Agent, ASK_MS, type Ask, connectionOf, offlineEnv } from './agent.ts';
import { commandOf } from './install-agents.ts';
import { run } from './run.ts';

const PACKAGES = { chat: '@ai-sdk/openai-compatible', messages: '@ai-sdk/anthropic' };
type Family = keyof typeof PACKAGES;

/** Every conversation's title is asked for next to the first step; of another model, to tell them apart. */
const TITLE_MODEL = 'cirrus/vista-3';

/** As `npm run connect -- opencode` has it, with the package of the family and the title's model. */
const configOf = (family: Family, ask: Ask) => {
  const { provider, ...configuration } = JSON.parse(
    opencodeConfiguration(connectionOf(ask)).file.text,
  );
  const { router } = provider;
  const limit = router.models[ask.model].limit;
  const models = { ...router.models, [TITLE_MODEL]: { name: TITLE_MODEL, limit } };
  return {
    ...configuration,
    autoupdate: false,
    share: 'disabled',
    permission: { '*': 'allow' },
    small_model: `router/${TITLE_MODEL}`,
    provider: { router: { ...router, npm: PACKAGES[family], models } },
  };
};

const Line = z.object({
  type: z.string(),
  part: z.object({ text: z.string().optional() }).optional(),
  error: z.unknown().optional(),
});

/** opencode's `run`, which takes one prompt, through either family of the router. */
export const opencode = (family: Family): Agent => ({
  name: 'opencode',
  package: 'opencode-ai',
  endpoint: family,
  ...(family === 'chat' && { reasoning: 'unsigned' }),
  call: {
    read: (file) => `call read ${JSON.stringify({ filePath: file })}`,
    shell: (command) => `call bash ${JSON.stringify({ command, description: 'A test' })}`,
  },
  ask: async (ask) => {
    const config = join(ask.desk.home, 'opencode.json');
    writeFileSync(config, JSON.stringify(configOf(family, ask)));
    const { code, stdout, stderr } = await run(commandOf('opencode'), ['run', '--format', 'json'], {
      cwd: ask.desk.folder,
      env: {
        ...offlineEnv(ask.desk),
        OPENCODE_CONFIG: config,
        [KEY]: ask.key,
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      },
      // On its command line, a prompt with spaces is put into quotes and the model sees them.
      input: ask.prompt,
      timeoutMs: ASK_MS,
    });
    if (code === null) throw new Error(`opencode did not end:\n${stdout}\n${stderr}`);
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    const events = lines.map((line) => Line.parse(JSON.parse(line)));
    const text = events.flatMap(({ type, part }) => (type === 'text' ? [part?.text ?? ''] : []));
    const failed = events.find(({ type }) => type === 'error');
    return { text: text.join(''), error: failed && JSON.stringify(failed.error) };
  },
});
