import { editsOver, hide, inside, insideEach, setMembers } from '../bytes/edits.ts';
import { asArray, asCount, asNumber, asRecord, asString, type Json } from '../bytes/json.ts';
import { type Edit, remove, set } from '../bytes/splice.ts';
import type { EventOf, GenerationEvent, GenerationRequest, ResponseMeta } from '../generation.ts';
import { edited, type Relay } from '../streams/relay.ts';
import type { SseMessage } from '../streams/sse.ts';
import { Answer } from './answer.ts';
import { encodeFinishReason } from './finish-reason.ts';
import { usesFunctions } from './functions.ts';
import { includesUsage } from './request.ts';
import { encodeUsage } from './usage.ts';

type Finish = EventOf<'finish'>;
/** A chunk that is sent at the end. */
type Held = { data: string; value: Json; edits: Edit[] };

const isFinish = (event: GenerationEvent | undefined): event is Finish => event?.type === 'finish';

const isText = (value: unknown): boolean => value == null || typeof value === 'string';

const isEnded = (choice: unknown): boolean =>
  (asString(asRecord(choice)?.finish_reason) ?? '') !== '';

const choicesIn = ({ choices }: Json): Json[] => asArray(choices).map((one) => asRecord(one) ?? {});

// --- calls ---

type Call = { name: string; id: unknown; custom?: true };

const nameIn = ({ function: own, custom }: Json): string =>
  asString((asRecord(custom) ?? asRecord(own))?.name) ?? '';

/** The edits of a call's first fragment: the caller's name of the tool. Undefined unless clients read the call so. */
const openingEdits = (fragment: Json, head: Call | undefined): Edit[] | undefined => {
  const name = nameIn(fragment);
  const member = asRecord(fragment.custom) ? 'custom' : 'function';
  if (!head || name === '' || fragment.id !== head.id) return undefined;
  if (member !== (head.custom ? 'custom' : 'function')) return undefined;
  return [
    ...setMembers(fragment, { type: member }),
    ...(name === head.name ? [] : [set([member, 'name'], head.name)]),
  ];
};

/** Of a later fragment: some clients join what is repeated. */
const continuingEdits = (fragment: Json): Edit[] | undefined => {
  if (nameIn(fragment) !== '' || (fragment.id ?? '') !== '') return undefined;
  const own = asRecord(fragment.function);
  return [
    ...('id' in fragment ? [remove(['id'])] : []),
    ...(own && 'name' in own ? [remove(['function', 'name'])] : []),
  ];
};

/** Whether a fragment is of one kind, with its arguments as a text, which is not that of none. */
const isReadable = ({ function: own, custom }: Json): boolean => {
  const { arguments: text } = asRecord(own) ?? {};
  return (
    !asRecord(text) && asString(text)?.trim() !== 'null' && !(asRecord(own) && asRecord(custom))
  );
};

/** The edits of the fragments of calls; undefined if clients would not put them together as they were decoded. */
const createCallEdits = () => {
  let count = 0;

  const fragmentEdits = (fragment: Json, heads: Call[]): Edit[] | undefined => {
    const index = asNumber(fragment.index) ?? -1;
    const isPlace = Number.isInteger(index) && index >= 0 && index <= count;
    if (!isPlace || !isReadable(fragment)) return undefined;
    if (index < count) return continuingEdits(fragment);
    count += 1;
    return openingEdits(fragment, heads.shift());
  };

  return (delta: Json, opened: Call[]): Edit[] | undefined => {
    const calls = asArray(delta.tool_calls);
    const heads = [...opened];
    const edits: Edit[] = [];
    for (const [at, fragment] of calls.entries()) {
      const own = fragmentEdits(asRecord(fragment) ?? {}, heads);
      if (!own) return undefined;
      edits.push(...inside(['tool_calls', at], own));
    }
    // Some clients read an empty list as a call.
    if (calls.length === 0 && Array.isArray(delta.tool_calls)) edits.push(remove(['tool_calls']));
    return heads.length === 0 ? edits : undefined;
  };
};

// --- choices ---

/** Reasoning has one name for callers, and two among upstreams. */
const reasoningEdits = ({ reasoning, reasoning_content: known }: Json): Edit[] => {
  if (typeof reasoning !== 'string') return [];
  const moved = asString(known) ? [] : [set(['reasoning_content'], reasoning)];
  return [...moved, remove(['reasoning'])];
};

/** Whether a delta says what it says in the members in which clients read it. */
const isPlain = (delta: Json): boolean =>
  isText(delta.content) && asRecord(delta.function_call) === undefined;

const createChoiceEdits = () => {
  const callEdits = createCallEdits();
  let hasRole = false;

  /** Some clients join what later chunks repeat. */
  const roleEdits = ({ role }: Json): Edit[] => {
    const isFirst = !hasRole;
    hasRole = true;
    if (isFirst) return role === 'assistant' ? [] : [set(['role'], 'assistant')];
    return role === undefined ? [] : [remove(['role'])];
  };

  /** Undefined if the choice is none of a stream, or in a form that clients would read in another way. */
  return (choice: Json, opened: Call[]): Edit[] | undefined => {
    const delta = asRecord(choice.delta);
    if (!delta || !isPlain(delta)) return undefined;
    const ofCalls = callEdits(delta, opened);
    if (!ofCalls) return undefined;
    const isUnended = !isEnded(choice) && choice.finish_reason !== null;
    const ofDelta = [...hide(delta), ...roleEdits(delta), ...reasoningEdits(delta), ...ofCalls];
    return [
      ...hide(choice),
      ...inside(['delta'], ofDelta),
      ...(isUnended ? [set(['finish_reason'], null)] : []),
    ];
  };
};

const callsOf = (events: GenerationEvent[], choice: number): Call[] =>
  events.flatMap((event) =>
    event.type === 'block-start' &&
    event.block.type === 'tool-call' &&
    (event.choice ?? 0) === choice
      ? [event.block]
      : [],
  );

// --- the end ---

const COUNTS = ['prompt_tokens', 'completion_tokens', 'total_tokens'];

const usageIn = ({ usage }: Json): Json | undefined => {
  const counts = asRecord(usage);
  return counts && COUNTS.some((name) => counts[name] != null) ? counts : undefined;
};

/** The counts that a chunk gets: those of another chunk, put right. */
const usageFrom = (usage: Json, counts: Json): Json => {
  const own = Object.entries(usage).filter(([name]) => hide({ [name]: 0 }).length === 0);
  const merged: Json = { ...Object.fromEntries(own), ...counts };
  for (const [name, value] of Object.entries(counts)) {
    if (asRecord(value)) merged[name] = { ...asRecord(usage[name]), ...asRecord(value) };
  }
  return merged;
};

const usageEdits = (value: Json, counts: Json): Edit[] =>
  usageIn(value) ? editsOver(value, { usage: counts }) : [set(['usage'], counts)];

const isLastOfChoice = (message: SseMessage): boolean =>
  'data' in message && choicesIn(JSON.parse(message.data)).some(isEnded);

const hasCalls = ({ value }: Held): boolean =>
  choicesIn(value).some(({ delta }) => asArray(asRecord(delta)?.tool_calls).length > 0);

/** The members of chunks that are not sent. */
const membersFrom = (value: Json, others: Held[]): Edit[] =>
  others.flatMap((other) =>
    Object.entries(other.value).flatMap(([name, member]) =>
      name in value || name === 'usage' || other.edits.some(({ path }) => path[0] === name)
        ? []
        : [set([name], member)],
    ),
  );

/**
 * Relays the chunks of one response. Those with finish reasons wait for the counts, which callers get on a last chunk, on
 * that of the finish reason or not at all, as they asked.
 */
export const createRelay = (request: GenerationRequest, meta: ResponseMeta): Relay => {
  const asked = includesUsage(request);
  const hasFunctions = request.tools !== undefined && usesFunctions(request);
  const count = request.choices ?? 1;
  const editsOfChoice = Array.from({ length: count }, createChoiceEdits);
  const ended = new Set<number>();
  const ends: Held[] = [];
  const others: Held[] = [];

  const named = (value: Json): Edit[] =>
    editsOver(
      value,
      {
        id: `chatcmpl-${meta.id}`,
        object: 'chat.completion.chunk',
        created: asCount(value.created) ?? meta.created,
        model: meta.model,
      },
      Answer,
    );

  /** Upstreams are always asked for counts, and some send them on every chunk. */
  const withoutUsage = (value: Json): Edit[] => {
    if (!('usage' in value)) return [];
    if (asked !== true) return [remove(['usage'])];
    return value.usage === null ? [] : [set(['usage'], null)];
  };

  const indexOf = ({ index }: Json): number =>
    request.choices === undefined && index === undefined ? 0 : (asNumber(index) ?? -1);

  const chunkEdits = (value: Json, events: GenerationEvent[]): Edit[] | undefined => {
    const edits = named(value);
    for (const [at, choice] of choicesIn(value).entries()) {
      const index = indexOf(choice);
      const own = editsOfChoice[index]?.(choice, callsOf(events, index));
      if (!own) return undefined;
      const place = choice.index === undefined ? [set(['index'], 0)] : [];
      edits.push(...inside(['choices', at], [...place, ...own]));
    }
    return edits;
  };

  const pushChunk = (data: string, value: Json, events: GenerationEvent[]) => {
    const choices = choicesIn(value);
    const isBare = events.every(({ type }) => type === 'aside');
    // One without choices, which some clients cannot read, adds its members to the last one.
    const isOver = choices.every((choice) => ended.has(indexOf(choice)));
    const edits = chunkEdits(value, events);
    if (!edits || choices.length > count || (isOver && !isBare)) return undefined;
    if (isOver) {
      others.push({ data, value, edits });
      return [];
    }
    const ending = choices.filter(isEnded);
    if (ending.length === 0) return [edited(data, [...edits, ...withoutUsage(value)])];
    if (ending.length < choices.length) return undefined;
    for (const choice of ending) ended.add(indexOf(choice));
    ends.push({ data, value, edits });
    return [];
  };

  const reasonEdits = ({ value }: Held, { reason, others: reasons = [] }: Finish): Edit[] =>
    insideEach(value, 'choices', (choice) => {
      const own = reasons[indexOf(choice) - 1] ?? reason;
      return setMembers(choice, { finish_reason: encodeFinishReason(own, request) });
    });

  /** The last chunk, which has no choices: that of the upstream, or one like its last one with a choice. */
  const usageChunk = (last: Held, counts: Json): SseMessage => {
    const { data, value } = others.find((other) => usageIn(other.value)) ?? last;
    const choices = setMembers(value, { choices: [] });
    return edited(data, [...named(value), ...usageEdits(value, counts), ...choices]);
  };

  const finish = (event: Finish, encoded: SseMessage[]): SseMessage[] | undefined => {
    const last = ends.at(-1);
    if (!last) return undefined;
    const counts = encodeUsage(event.usage, meta.estimateInput);
    const source = others.map(({ value }) => usageIn(value)).findLast(Boolean);
    const ownUsage = (value: Json): Edit[] =>
      source && !usageIn(value)
        ? [set(['usage'], usageFrom(source, counts))]
        : usageEdits(value, counts);
    const sent = ends.map((end) => {
      const { data, value, edits } = end;
      const rest = end === last ? membersFrom(value, others) : [];
      const hasUsage = end === last && asked === undefined;
      const usage = hasUsage ? ownUsage(value) : withoutUsage(value);
      return edited(data, [...rest, ...edits, ...reasonEdits(end, event), ...usage]);
    });
    // Empty arguments as `{}`, which belong behind the start of their call.
    const fragments = encoded.slice(0, Math.max(0, encoded.findIndex(isLastOfChoice)));
    if (fragments.length > 0 && ends.some(hasCalls)) return undefined;
    return [
      ...fragments,
      ...sent,
      ...(asked ? [usageChunk(last, counts)] : []),
      { data: '[DONE]' },
    ];
  };

  return ({ data, value, events, encoded }) => {
    const last = events.at(-1);
    if (isFinish(last)) return finish(last, encoded);
    if (hasFunctions) return undefined;
    return value ? pushChunk(data, value, events) : [];
  };
};
