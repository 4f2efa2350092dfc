import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { PROGRAM } from '#program';
import { CLIENTS, type Configuration, type Connection, KEY, textOf } from '../lambdas/clients.ts';
import { CliError, messageOf } from './cli-error.ts';
import { requireAddress } from './connection.ts';
import { makeFolder } from './make-folder.ts';

const USAGE = `Usage: ${PROGRAM.connect} CLIENT [options]

Prints the configuration of a client: ${Object.keys(CLIENTS).join(', ')}.

  --url URL      base address of the router (default: http://127.0.0.1:8787, that of ${PROGRAM.router})
  --model ID     a model of the router (default: the first that the key may use)
  --write        write the client's file, unless there is one
  --folder DIR   folder of the project, for files that belong to one (default: .)
  --json         print the configuration as JSON: variables, file, code
  --help         print this text

Example: ${PROGRAM.connect} claude --model aurora/scribe-1

The key is read from the environment variable ${KEY} and is never printed or written.`;

const OPTIONS = {
  url: { type: 'string', default: 'http://127.0.0.1:8787' },
  model: { type: 'string' },
  write: { type: 'boolean', default: false },
  folder: { type: 'string', default: '.' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

const readArguments = (args: string[]) => {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new CliError(2, `${messageOf(error)}\n\n${USAGE}`);
  }
};

/** In a terminal, characters that are not shown hide what is pasted. */
const Id = z.string().regex(/^[^\p{C}\p{Z}]+$/u);
const Models = z.object({
  data: z.array(z.object({ id: Id, context_length: z.number(), max_output_tokens: z.number() })),
});

/** The models that the key may use. @throws CliError 1 */
const fetchModels = async (url: string, key: string) => {
  const response = await fetch(`${url}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  }).catch((cause: unknown) => {
    throw new CliError(
      1,
      `No router responds at ${url}. Is \`${PROGRAM.router}\` running? Use --url.`,
      { cause },
    );
  });
  if (response.status === 401) throw new CliError(1, `The key in ${KEY} is invalid.`);
  if (!response.ok) throw new CliError(1, `The router responded with ${response.status}.`);
  const models = Models.safeParse(await response.json().catch(() => undefined));
  if (!models.success) throw new CliError(1, `The list of models at ${url} is not a router's.`);
  return models.data.data;
};

/** @throws CliError 1 */
const findConnection = async (
  url: string,
  { key, model }: { key: string; model: string | undefined },
): Promise<Connection> => {
  const models = await fetchModels(url, key);
  const found = model === undefined ? models[0] : models.find(({ id }) => id === model);
  if (!found) {
    const ids = models.map(({ id }) => id).join(', ');
    throw new CliError(1, `The key may not use this model. It may use: ${ids || 'none'}.`);
  }
  const { id, context_length: context, max_output_tokens: output } = found;
  return { url, model: id, context, output };
};

/** @throws CliError 1 if the file cannot be written, or exists: it may hold more than this tool knows. */
const write = (
  { path, text }: NonNullable<Configuration['file']>,
  { folder, home }: { folder: string; home: string },
): string => {
  const target = path.startsWith('~/') ? join(home, path.slice(2)) : join(folder, path);
  if (existsSync(target)) {
    throw new CliError(1, `${target} already exists. Add these lines to it:\n\n${text}`);
  }
  try {
    makeFolder(dirname(target));
    writeFileSync(target, text);
  } catch (cause) {
    throw new CliError(1, `${target} cannot be written: ${messageOf(cause)}.`, { cause });
  }
  return `Wrote ${target}`;
};

/** What the command prints. @throws CliError */
export const connect = async (
  args: string[],
  { env, home }: { env: NodeJS.ProcessEnv; home: string },
): Promise<string> => {
  const { values, positionals } = readArguments(args);
  if (values.help) return USAGE;
  const [name = '', ...surplus] = positionals;
  if (name === '') throw new CliError(2, `Missing argument: CLIENT.\n\n${USAGE}`);
  const client = Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined;
  if (!client) throw new CliError(2, `Unknown client '${name}'.\n\n${USAGE}`);
  if (surplus.length > 0) throw new CliError(2, `Unexpected argument: ${surplus.join(' ')}`);
  const key = env[KEY];
  if (!key)
    throw new CliError(2, `Missing environment variable: ${KEY}, an API key of the router.`);
  const url = requireAddress(values.url).replace(/\/$/, '').replace(/\/v1$/, '');
  const configuration = client(await findConnection(url, { key, model: values.model }));
  const { file } = configuration;
  const written = () =>
    file
      ? write(file, { folder: values.folder, home })
      : '# Wrote nothing: this client is configured without a file.';
  const done = values.write ? written() : undefined;
  return values.json ? JSON.stringify(configuration) : textOf(configuration, done);
};
