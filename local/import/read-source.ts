import { readFile } from 'node:fs/promises';
import { LineCounter, parseDocument } from 'yaml';
import * as z from 'zod';
import { messageOf } from '../../cli/cli-error.ts';
import { describeIssue } from '../../lambdas/support/describe-issue.ts';
import { fixable, UsageError } from '../usage-error.ts';
import type { Note } from './imported.ts';

type Path = readonly PropertyKey[];

/** A YAML or JSON file, which is YAML too. */
export type Source = {
  file: string;
  value: unknown;
  /** The file and line of a value, or of the nearest one around it that exists. */
  at(path: Path): string;
  /** What of it does not count: of keys that one map has twice PyYAML reads the last. */
  notes: Note[];
};

const Located = z.object({ range: z.tuple([z.number()], z.number()) });

/** The value of a text of JSON, which `JSON.parse` reads in a hundredth of the time of a YAML parser. */
const jsonIn = (text: string): { value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

/** Windows' PowerShell writes UTF-16; both encodings may begin with a mark, which neither parser reads. */
const decode = (bytes: Uint8Array): string =>
  new TextDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : 'utf-8').decode(bytes);

/** @throws UsageError with the file, and the line if it is neither YAML nor JSON */
export const readSource = async (file: string): Promise<Source> => {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw new UsageError(`Cannot read ${file}: ${messageOf(cause)}.`, { cause });
  });
  const text = decode(bytes);
  if (/^\s*</.test(text)) {
    throw new UsageError(`${file}:1: must be YAML or JSON, and begins as a web page does: <`);
  }
  const lineCounter = new LineCounter();
  // Its pretty errors quote the file, which may have credentials.
  const parse = () => parseDocument(text, { lineCounter, merge: true, prettyErrors: false });
  const lineAt = (offset: number): number => lineCounter.linePos(offset).line;
  const json = jsonIn(text);
  let document = json ? undefined : parse();
  const placeAt = (offset: number): string => `${file}:${lineAt(offset)}`;
  const errors = document?.errors ?? [];
  const error = errors.find(({ code }) => code !== 'DUPLICATE_KEY');
  if (error) {
    throw new UsageError(`${placeAt(error.pos[0])}: ${error.message}`, { cause: error });
  }
  const notes = errors.map(({ pos: [offset] }) => ({
    place: placeAt(offset),
    reason: 'its map has this key twice: the last one counts, as LiteLLM reads it',
  }));
  const at = (path: Path): string => {
    document ??= parse();
    for (let length = path.length; length > 0; length--) {
      const node = Located.safeParse(document.getIn(path.slice(0, length), true));
      if (node.success) return placeAt(node.data.range[0]);
    }
    return `${file}:1`;
  };
  const value = fixable(
    () => (json ? json.value : document?.toJS()),
    (message) => `${file}: ${message}`,
  );
  return { file, value, at, notes };
};

/** `model_list[0].litellm_params` */
export const placeOf = (path: Path): string => z.core.toDotPath([...path]);

export const errorAt = ({ at }: Source, path: Path, message: string): UsageError =>
  new UsageError(`${at(path)}: ${path.length === 0 ? '' : `${placeOf(path)}: `}${message}`);

/** @throws UsageError with a line for each value of another form */
export const parseSource = <Schema extends z.ZodType>(source: Source, schema: Schema) => {
  const parsed = schema.safeParse(source.value, { error: describeIssue });
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(
    ({ path, message }) => errorAt(source, path, message).message,
  );
  throw new UsageError(lines.join('\n'), { cause: parsed.error });
};

/**
 * The list that a file is, or has as its member `name`. As a union of schemas the two would say of both that
 * neither is valid.
 * @throws UsageError with a line for each value of another form
 */
export const parseList = <List extends z.ZodType>(
  source: Source,
  name: string,
  list: List,
): z.infer<List> => {
  if (Array.isArray(source.value)) return parseSource(source, list);
  return parseSource(
    source,
    z.looseObject({ [name]: list }).transform((answer) => answer[name] as z.infer<List>),
  );
};
