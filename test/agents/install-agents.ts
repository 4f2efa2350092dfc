import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './run.ts';

/** Almost two gigabytes together, which is why they are no dependencies of the project. */
const AGENTS = {
  '@anthropic-ai/claude-code': '2.1.329',
  '@openai/codex': '0.169.0',
  'opencode-ai': '1.18.33',
  '@qwen-code/qwen-code': '0.24.4',
  cline: '3.0.65',
  '@continuedev/cli': '1.5.47',
  '@mariozechner/pi-coding-agent': '0.73.1',
};

export type AgentPackage = keyof typeof AGENTS;

/** What is played: the versions above in a folder, or others in another one. */
const chosen: { versions: Partial<Record<AgentPackage, string>>; folder: string } = {
  versions: AGENTS,
  folder: fileURLToPath(new URL('../../.tmp/agents', import.meta.url)),
};

export const versionOf = (name: AgentPackage): string => chosen.versions[name] ?? '';

const INSTALL_MS = 600_000;

const installed = (name: string): string | undefined => {
  try {
    const manifest = join(chosen.folder, 'node_modules', name, 'package.json');
    return JSON.parse(readFileSync(manifest, 'utf8')).version;
  } catch {
    return undefined;
  }
};

/** The path of an installed agent's command. */
export const commandOf = (
  name: 'claude' | 'codex' | 'opencode' | 'qwen' | 'cline' | 'cn' | 'pi',
): string => join(chosen.folder, 'node_modules/.bin', name);

/** Brings the chosen agents into their folder, unless these versions are there. @throws Error */
export const installAgents = async (): Promise<void> => {
  const { versions, folder } = chosen;
  if (Object.entries(versions).every(([name, version]) => installed(name) === version)) return;
  mkdirSync(folder, { recursive: true });
  // Their install scripts put the binary of this machine in place.
  const allowScripts = Object.fromEntries(Object.keys(versions).map((name) => [name, true]));
  const manifest = { private: true, dependencies: versions, allowScripts };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  const { code, stderr } = await run('npm', ['install', '--no-audit', '--no-fund'], {
    cwd: folder,
    env: process.env,
    input: '',
    timeoutMs: INSTALL_MS,
  });
  if (code !== 0) throw new Error(`npm could not install the agents:\n${stderr}`);
};

/** Installs the newest versions of these agents in a folder of their own. @throws Error */
export const installLatest = async (names: AgentPackage[]): Promise<void> => {
  const newest = async (name: AgentPackage) => {
    const options = { cwd: '.', env: process.env, input: '', timeoutMs: INSTALL_MS };
    const { stdout } = await run('npm', ['view', name, 'version'], options);
    return [name, stdout.trim()] as const;
  };
  chosen.versions = Object.fromEntries(await Promise.all(names.map(newest)));
  chosen.folder = fileURLToPath(new URL('../../.tmp/latest', import.meta.url));
  await installAgents();
};
