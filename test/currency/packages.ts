import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CallerProtocolName } from '../../lambdas/protocols/protocol.ts';

/** The official SDKs whose types are followed. */
export const SDKS = ['openai', '@anthropic-ai/sdk', '@google/genai'] as const;
export type Sdk = (typeof SDKS)[number];

const BETA = 'resources/beta/messages/messages.d.ts';
/** The types of requests, with the protocol whose table has a row for each of their members. */
export const REQUESTS: { sdk: Sdk; file: string; type: string; protocol: CallerProtocolName }[] = [
  {
    ...{ sdk: 'openai', protocol: 'chat', type: 'ChatCompletionCreateParamsBase' },
    file: 'resources/chat/completions/completions.d.ts',
  },
  {
    ...{ sdk: 'openai', protocol: 'responses', type: 'ResponseCreateParamsBase' },
    file: 'resources/responses/responses.d.ts',
  },
  { sdk: '@anthropic-ai/sdk', protocol: 'messages', type: 'MessageCreateParamsBase', file: BETA },
];

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

export const lockedRoot = (name: string): string => join(MODULES, name);

export const versionIn = (root: string): string =>
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version;

/** Downloads a package as the registry has it, runs none of it, and returns its folder. */
export const download = (name: string, version: string, into: string): string => {
  const folder = join(into, name.replace('/', '-'));
  mkdirSync(folder, { recursive: true });
  const options = { cwd: folder };
  execFileSync('npm', ['pack', '--silent', `${name}@${version}`], options);
  const [file = ''] = readdirSync(folder).filter((one) => one.endsWith('.tgz'));
  execFileSync('tar', ['-xzf', file], options);
  return dirname(join(folder, 'package', 'package.json'));
};
