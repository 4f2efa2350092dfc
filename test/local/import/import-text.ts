import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readModels } from '../../../local/own-catalog.ts';
import { runBuilt } from '../../support/run-cli.ts';

/** Files next to that of the text, and variables. */
type More = { files?: Record<string, string>; env?: Record<string, string> };

type Note = { place: string; reason: string };

/** Imports the text of a file into a new folder below one; the catalog is what the router reads of it. */
export const importText = async (
  folder: string,
  format: string,
  text: string | Uint8Array,
  pages: unknown[] = [],
  teams?: unknown[],
  more: More = {},
) => {
  const out = mkdtempSync(join(folder, 'out-'));
  const file = join(out, 'listed');
  writeFileSync(file, text);
  for (const [name, content] of Object.entries(more.files ?? {}))
    writeFileSync(join(out, name), content);
  const optionOf = (option: string, name: string, value: unknown): string[] => {
    writeFileSync(join(out, name), JSON.stringify(value, null, 1));
    return [option, join(out, name)];
  };
  const keys = pages.flatMap((page, index) => optionOf('--keys', `page-${index}`, page));
  if (teams) keys.push(...optionOf('--teams', 'teams', teams));
  const env = { OPENROUTER_API_KEY: 'credential', OPENAI_API_KEY: 'credential', ...more.env };
  const args = [format, file, ...keys, '--out', out, '--json'];
  const paths = { catalogFile: join(out, 'catalog.json'), secretsFile: join(out, 'secrets.json') };
  const ended = await runBuilt('local/import/main.ts', args, env);
  const none: Note[] = [];
  if (ended.code !== 0) {
    return { ...ended, ...paths, catalog: [], noCounterpart: none, assumed: none };
  }
  const report: { noCounterpart: Note[]; assumed: Note[]; missing: string[] } = JSON.parse(
    ended.out,
  );
  return { ...ended, ...paths, ...report, catalog: await readModels(paths.catalogFile) };
};
