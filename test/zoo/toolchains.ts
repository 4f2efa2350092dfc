import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../agents/run.ts';
import type { Language } from './client.ts';

/** How a driver is run. */
export type Command = { command: string; args: string[]; env: NodeJS.ProcessEnv; cwd: string };

export type Toolchain = {
  /** Lists the versions of the clients. */
  manifest: string;
  /** Prints a version where the toolchain is installed. */
  probe: [command: string, ...args: string[]];
  /** Each library has its own environment; otherwise one installation has them all. */
  isPerLibrary?: true;
  /** Brings a library into `folder`, builds what is to be built, and names the command. */
  install(folder: string, source: string, library: string): Promise<Command>;
};

const INSTALL_MS = 1_200_000;
const DRIVERS = fileURLToPath(new URL('drivers', import.meta.url));
const FOLDER = fileURLToPath(new URL('../../.tmp/zoo', import.meta.url));

/** @throws Error with the end of what the command printed */
const step = async (cwd: string, env: NodeJS.ProcessEnv, command: string, ...args: string[]) => {
  const options = { cwd, env: { ...process.env, ...env }, input: '', timeoutMs: INSTALL_MS };
  const { code, stdout, stderr } = await run(command, args, options);
  if (code === 0) return;
  throw new Error(`${command} ${args[0]} failed:\n${`${stdout}${stderr}`.slice(-1_500)}`);
};

/** Runs `install` unless `wanted` is what was installed the last time. */
const whenChanged = async (folder: string, wanted: string, install: () => Promise<void>) => {
  const stamp = join(folder, '.installed');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  await install();
  writeFileSync(stamp, wanted);
};

const javascript: Toolchain = {
  manifest: 'package.json',
  probe: [process.execPath, '--version'],
  install: async (folder, source) => {
    // Node finds packages from where a module lies, so the driver lies next to them.
    cpSync(source, folder, { recursive: true });
    const flags = ['--no-audit', '--no-fund', '--legacy-peer-deps'];
    await whenChanged(folder, readFileSync(join(source, 'package.json'), 'utf8'), () =>
      step(folder, {}, 'npm', 'install', ...flags),
    );
    const args = ['--no-warnings', 'driver.mjs'];
    return { command: process.execPath, args, env: {}, cwd: folder };
  },
};

/** The libraries pin different versions of the SDKs, so each has an environment. */
const python: Toolchain = {
  manifest: 'requirements.txt',
  probe: ['python3', '-m', 'venv', '--help'],
  isPerLibrary: true,
  install: async (top, source, library) => {
    const lines = readFileSync(join(source, 'requirements.txt'), 'utf8').split('\n');
    const wanted = lines.find((line) => /^[\w.-]+/.exec(line)?.[0] === library) ?? library;
    const folder = join(top, library);
    const interpreter = join(folder, 'bin/python');
    mkdirSync(folder, { recursive: true });
    await whenChanged(folder, wanted, async () => {
      await step(top, {}, 'python3', '-m', 'venv', folder);
      await step(top, {}, interpreter, '-m', 'pip', 'install', '-q', ...wanted.split(' '));
    });
    const env = { PYTHONDONTWRITEBYTECODE: '1' };
    return { command: interpreter, args: ['driver.py'], env, cwd: source };
  },
};

const go: Toolchain = {
  manifest: 'go.mod',
  probe: ['go', 'version'],
  install: async (folder, source) => {
    const command = join(folder, 'driver');
    await step(source, {}, 'go', 'build', '-o', command, '.');
    return { command, args: [], env: {}, cwd: folder };
  },
};

const rust: Toolchain = {
  manifest: 'Cargo.toml',
  probe: ['cargo', '--version'],
  install: async (folder, source) => {
    await step(source, {}, 'cargo', 'build', '--quiet', '--locked', '--target-dir', folder);
    return { command: join(folder, 'debug/driver'), args: [], env: {}, cwd: folder };
  },
};

const java: Toolchain = {
  manifest: 'pom.xml',
  probe: ['mvn', '--version'],
  install: async (folder, source) => {
    const goals = ['compile', 'dependency:copy-dependencies'];
    await step(source, {}, 'mvn', '-q', `-Dzoo.folder=${folder}`, ...goals);
    const classPath = ['classes', 'dependency/*'].map((path) => join(folder, path)).join(':');
    return { command: 'java', args: ['-cp', classPath, 'Driver'], env: {}, cwd: folder };
  },
};

const TOOLCHAINS: Record<Language, Toolchain> = {
  JavaScript: javascript,
  Python: python,
  Go: go,
  Rust: rust,
  Java: java,
};

const nameOf = (language: Language): string => language.toLowerCase();

const isInstalled = async ([command, ...args]: Toolchain['probe']): Promise<boolean> => {
  const options = { cwd: '.', env: process.env, input: '', timeoutMs: 60_000 };
  return run(command, args, options).then(
    ({ code }) => code === 0,
    () => false,
  );
};

export const hasToolchain = (language: Language): Promise<boolean> =>
  isInstalled(TOOLCHAINS[language].probe);

const prepared = new Map<string, Promise<Command>>();

/** The command of the driver that has the library. @throws Error when it cannot be installed */
export const prepareDriver = (language: Language, library: string): Promise<Command> => {
  const toolchain = TOOLCHAINS[language];
  const name = toolchain.isPerLibrary ? `${language} ${library}` : language;
  const folder = join(FOLDER, nameOf(language));
  mkdirSync(folder, { recursive: true });
  const command =
    prepared.get(name) ?? toolchain.install(folder, join(DRIVERS, nameOf(language)), library);
  prepared.set(name, command);
  return command;
};

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The version that a driver's manifest pins: the first one behind the name. @throws Error when it names none */
export const versionOf = (language: Language, name: string): string => {
  const path = join(DRIVERS, nameOf(language), TOOLCHAINS[language].manifest);
  const manifest = readFileSync(path, 'utf8');
  const artifact = name.split(':').at(-1) ?? name;
  const start = manifest.search(new RegExp(`(?<![\\w/@-])${escaped(artifact)}(?![\\w/-])`));
  const version = start < 0 ? undefined : /\d+\.\d+\.\d+/.exec(manifest.slice(start))?.[0];
  if (version === undefined) throw new Error(`${path} does not pin ${name}`);
  return version;
};
