import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PROGRAM } from '#program';

import { plural } from '../../cli/format.ts';
import { makeFolder } from '../../cli/make-folder.ts';
import { createProgress } from '../../cli/progress.ts';
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import { fixable, UsageError } from '../usage-error.ts';
import type { Imported, Note } from './imported.ts';
import { readWithIncluded } from './include.ts';
import { importLitellm } from './litellm.ts';
import { importOpenrouter } from './openrouter.ts';
import { readSource, type Source } from './read-source.ts';

const USAGE = `Usage: ${PROGRAM.import} litellm config.yaml [options]
       ${PROGRAM.import} openrouter models.json [options]

Writes catalog.json, secrets.json and plans.json, and prints what has no counterpart, and what was assumed.

  --out DIR        folder of the files (default: imported); files of an earlier import are replaced
  --teams FILE     LiteLLM's answer of GET /team/list: teams become projects
  --keys FILE      LiteLLM's answer of GET /key/list?return_full_object=true: keys become new keys; several times for
                   several pages
  --models FILE    LiteLLM's model_prices_and_context_window.json: sizes and prices that the file lacks
  --model ID       of OpenRouter's list: a model to import, several times for several (default: all)
  --base-url URL   of OpenRouter's list: another address that serves it
  --json           print the report as JSON
  --help           print this text

Example: ${PROGRAM.import} litellm config.yaml --out imported

Values such as os.environ/NAME are read from the environment.`;

const OPTIONS = {
  out: { type: 'string', default: 'imported' },
  teams: { type: 'string' },
  keys: { type: 'string', multiple: true, default: [] as string[] },
  models: { type: 'string' },
  model: { type: 'string', multiple: true, default: [] as string[] },
  'base-url': { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const parse = (args: string[]) =>
  fixable(
    () => parseArgs({ args, options: OPTIONS, allowPositionals: true }),
    (message) => `${message}\n\n${USAGE}`,
  );

type Given = ReturnType<typeof parse>['values'];

/** Shown from its first second on: files of many keys take several. */
const progress = createProgress(process.stderr);

/** Files, and what is made of them. */
const expectSteps = (...files: (string | undefined)[]): void =>
  progress.expect(files.filter((file) => file !== undefined).length + 2);

const read = async (file: string): Promise<Source> => {
  const source = await readSource(file);
  progress.count();
  return source;
};
const readIf = (file: string | undefined) => (file === undefined ? undefined : read(file));

const FORMATS: Record<string, (file: string, given: Given) => Promise<Imported>> = {
  litellm: async (file, { teams, keys, models }) => {
    expectSteps(file, teams, ...keys, models);
    const files = {
      config: await readWithIncluded(file, read),
      teams: await readIf(teams),
      keys: await Promise.all(keys.map(read)),
      models: await readIf(models),
    };
    return importLitellm(files, process.env, Date.now());
  },
  openrouter: async (file, { model, 'base-url': baseUrl }) => {
    expectSteps(file);
    return importOpenrouter(await read(file), model, {
      env: process.env,
      baseUrl,
      now: Date.now(),
    });
  },
};

const MAX_PLACES = 4;

/** Lines of the same reason are one, as a setting of many models has. */
const linesOf = (notes: Note[]): string[] =>
  [...new Set(notes.map(({ reason }) => reason))].map((reason) => {
    const found = notes.filter((note) => note.reason === reason);
    const places = found.slice(0, MAX_PLACES).map(({ place }) => place);
    const others = found.length - places.length;
    const more = others === 0 ? '' : ` and ${others} more (--json lists them)`;
    return `  ${places.join(', ')}${more}: ${reason}`;
  });

const sectionOf = (title: string, notes: Note[]): string =>
  notes.length === 0 ? '' : `\n${title} (${notes.length}):\n${linesOf(notes).join('\n')}\n`;

const reportOf = (out: string, imported: Imported): string => {
  const { catalog, secrets, missing, plans, noCounterpart, assumed } = imported;
  const targets = catalog.flatMap((model) => model.targets);
  const toFill = missing.length === 0 ? '' : `; add ${missing.join(', ')}`;
  const planned = [
    plural(plans.projects.length, 'project'),
    plural(plans.plans.length, 'plan'),
    plural(plans.keys.length, 'key'),
    plural(plans.budgets.length, 'budget'),
  ].join(', ');
  const [file, credentials] = [join(out, 'catalog.json'), join(out, 'secrets.json')];
  return `${file}: ${plural(catalog.length, 'model')}, ${plural(targets.length, 'target')}
${credentials}: ${plural(Object.keys(secrets).length, 'credential')}${toFill}
${join(out, 'plans.json')}: ${planned}
${sectionOf('No counterpart', noCounterpart)}${sectionOf('Assumed', assumed)}
Next:
  ${PROGRAM.start} --catalog ${file} --secrets ${credentials}
  ${PROGRAM.admin} apply ${join(out, 'plans.json')}
  ${PROGRAM.admin} doctor
`;
};

const run = async (args: string[]): Promise<void> => {
  const { values, positionals } = parse(args);
  const [format = '', file, ...surplus] = positionals;
  if (values.help || positionals.length === 0) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const importFrom = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (!importFrom)
    throw new UsageError(`Unknown format '${format}': litellm or openrouter.\n\n${USAGE}`);
  if (file === undefined || surplus.length > 0) throw new UsageError(`Name one file.\n\n${USAGE}`);
  const imported = await importFrom(file, values);
  progress.count();
  // Nothing is written that the router would reject.
  fixable(
    () => parseModels(imported.catalog),
    (message) =>
      message.replaceAll(/at \[(\d+)\]\.?/g, (_, index) => `at ${imported.catalog[index]?.id}: `),
  );
  progress.count();
  const { out } = values;
  const write = (name: string, value: unknown, mode: number) =>
    writeFileSync(join(out, name), `${JSON.stringify(value, null, 2)}\n`, { mode });
  fixable(
    () => {
      makeFolder(out);
      write('catalog.json', imported.catalog, 0o644);
      write('secrets.json', imported.secrets, 0o600);
      write('plans.json', imported.plans, 0o644);
    },
    (message) => `The folder ${out} cannot be written: ${message}.`,
  );
  const { secrets, ...shown } = imported;
  progress.end();
  process.stdout.write(
    values.json
      ? `${JSON.stringify({ ...shown, secrets: Object.keys(secrets) }, null, 2)}\n`
      : reportOf(out, imported),
  );
};

run(process.argv.slice(2))
  .finally(progress.end)
  .catch((error: unknown) => {
    process.exitCode = error instanceof UsageError ? 2 : 1;
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
  });
