import { mapOnce } from '../../support/memo.ts';
import { isRecord } from '../../support/objects.ts';
import { asRecord, type Json } from '../bytes/json.ts';
import { type CachePlace, createCacheLosses } from '../cache/fit-marks.ts';
import type { Extras, GenerationRequest, ThinkingBlock, Turn } from '../generation.ts';
import type { Profile } from '../profile.ts';
import type { CallerProtocolName, UpstreamProtocolName } from '../protocol-name.ts';
import { keptThinking } from '../thinking/origin.ts';
import { NO_ARGUMENTS } from '../tools/schemas.ts';
import { CARRIED, type Fate, type ObjectRow, type Row } from './fates/rows.ts';
import { FATES } from './fates.ts';
import { PATHS, plain } from './paths.ts';

/** The name of a member, or an item of a list, whose kind is empty if items have none. */
type Step = string | { kind: string };

const textOf = (step: Step): string => {
  if (typeof step === 'string') return `.${plain(step)}`;
  return step.kind === '' ? '[]' : `[${plain(step.kind)}]`;
};

/** What of a value has a form in a target's protocol. */
type Forms = { strict(schema: Json): boolean; thinking(block: ThinkingBlock): boolean };

type Walk = Pick<Forms, 'strict'> & {
  /** What is lost of a member about caches. */
  cache: ReturnType<typeof createCacheLosses>;
  to: UpstreamProtocolName;
  /** Where the walk is: a path is built of it for what is lost only. */
  steps: Step[];
  /** Called at each member that a target of `to` does not get. */
  note(steps: Step[], isHarmless: boolean): void;
};

const walkObject = ({ members, absent }: ObjectRow, value: Json, walk: Walk): void => {
  const { steps } = walk;
  for (const name in value) {
    const row = members[name];
    if (row === CARRIED) continue;
    steps.push(name);
    walkRow(row, value[name], walk, value);
    steps.pop();
  }
  for (const name in absent) {
    if ((value[name] ?? null) !== null) continue;
    steps.push(name);
    walkRow(members[name], absent[name], walk);
    steps.pop();
  }
};

const walkKind = (
  { by, rows, usual, dated }: Extract<Row, { is: 'kinds' }>,
  value: Json,
  walk: Walk,
): void => {
  const sent = value[by] ?? usual;
  const kind = typeof sent === 'string' ? sent : '*';
  const step = walk.steps.at(-1);
  if (typeof step === 'object') step.kind = kind || '*';
  walkRow(rows[kind] ?? (dated?.pattern.test(kind) ? dated.row : undefined), value, walk);
};

const walkInside = (row: Exclude<Row, Fate>, value: object, walk: Walk): void => {
  if (row.is === 'list' && Array.isArray(value)) {
    walk.steps.push({ kind: '' });
    for (const item of value) walkRow(row.item, item, walk);
    walk.steps.pop();
  } else if (row.is === 'object' && isRecord(value)) walkObject(row, value, walk);
  else if (row.is === 'kinds' && isRecord(value)) walkKind(row, value, walk);
  else walk.note(walk.steps, false);
};

const walkCache = (at: CachePlace, value: unknown, walk: Walk, owner: Json): void => {
  const { steps, cache } = walk;
  for (const name of cache(at, String(steps.at(-1)), value, owner)) {
    walk.note(name === '' ? steps : [...steps, name], false);
  }
};

/** Whether the loss of a member of `owner` is harmless; undefined if a target gets it. */
const isHarmless = (
  fate: Exclude<Fate, { is: 'cache' }>,
  value: unknown,
  { to, strict }: Walk,
  owner: Json,
): boolean | undefined => {
  if (fate.is === 'harmless') return true;
  if (fate.is === 'strict') {
    if (value !== true) return true;
    return strict(asRecord(owner[fate.schema]) ?? NO_ARGUMENTS) ? undefined : false;
  }
  if (fate.isDefault(value)) return true;
  return fate.is === 'carried' && fate.to?.includes(to) !== false ? undefined : false;
};

const walkRow = (row: Row | undefined, value: unknown, walk: Walk, owner: Json = {}): void => {
  if (value === null || value === undefined) return;
  switch (row?.is) {
    case 'list':
    case 'object':
    case 'kinds':
      // A text in place of parts is carried.
      if (typeof value === 'object') walkInside(row, value, walk);
      return;
    case 'cache':
      walkCache(row.at, value, walk, owner);
      return;
    default: {
      const harmless = row ? isHarmless(row, value, walk, owner) : false;
      if (harmless !== undefined) walk.note(walk.steps, harmless);
    }
  }
};

/**
 * The paths of a received request's members that a target of `to` does not get, each once: `messages[user].name`, with the
 * kind of an item in its brackets. What a model or a value decides is not among them: the encoders know it.
 */
export const ledgerOf = (
  parts: Omit<Walk, 'note' | 'steps'> & { from: CallerProtocolName; received: unknown },
): { named: string[]; harmless: string[] } => {
  const { from, received, ...walk } = parts;
  const [named, harmless] = [new Set<string>(), new Set<string>()];
  const note = (steps: Step[], isHarmless: boolean) =>
    (isHarmless ? harmless : named).add(steps.map(textOf).join('').replace(/^\./, ''));
  walkRow(FATES[from], received, { ...walk, steps: [], note });
  return { named: [...named], harmless: [...harmless] };
};

const thinkingPath = (
  { redacted: isRedacted, signature }: ThinkingBlock,
  from: CallerProtocolName,
) => {
  const { redacted, signed, unsigned } = PATHS[from];
  if (isRedacted) return redacted;
  return signature === undefined ? unsigned : signed;
};

const lostIn = mapOnce(
  (
    { blocks }: Turn,
    _,
    from: CallerProtocolName,
    origin: string | undefined,
    hasForm: Forms['thinking'],
  ) => {
    const lost: string[] = [];
    for (const block of blocks) {
      if (block.type !== 'thinking') continue;
      const kept = keptThinking(block, origin);
      if (!kept || !hasForm(kept)) lost.push(thinkingPath(block, from));
    }
    return lost;
  },
);

/** The thinking of earlier responses that a target does not get, by path; a path may be repeated. */
export const lostThinking = (
  { turns, extras, thinkingFrom }: GenerationRequest,
  { thinking: hasForm }: Pick<Forms, 'thinking'>,
): string[] => lostIn(turns, extras.protocol, thinkingFrom, hasForm).flat();

/** What a target of `to` does not get of a request of another protocol, by path; a path may be repeated. */
export const lossesBeyond = (
  to: UpstreamProtocolName,
  request: GenerationRequest,
  received: unknown,
  forms: Forms & { profile: Profile },
): string[] => {
  const cache = createCacheLosses(request, { to, profile: forms.profile });
  const { strict } = forms;
  return [
    ...ledgerOf({ from: request.extras.protocol, to, received, strict, cache }).named,
    ...lostThinking(request, forms),
  ];
};

/** Whether the value of a field asks for what a target does anyway. */
export const isDefault = (
  { protocol }: Pick<Extras<CallerProtocolName>, 'protocol'>,
  name: string,
  value: unknown,
): boolean => {
  const row = FATES[protocol].members[name];
  return value == null || (row !== undefined && 'isDefault' in row && row.isDefault(value));
};
