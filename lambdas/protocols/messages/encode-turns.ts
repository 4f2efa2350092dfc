import { isEmpty, omitUndefined } from '../../support/objects.ts';
import type { Json } from '../bytes/json.ts';
import type { Block, GenerationRequest, Turn } from '../generation.ts';
import { asReminder, spokenBlocks } from '../instructions.ts';
import { noContent } from '../ledger/assert-consistent.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import type { WireTarget } from '../protocol.ts';
import { renameCalls } from '../tools/ids.ts';
import { joinRuns, leadOf } from '../turn-runs.ts';
import { encodeContent } from './encode-content.ts';

/**
 * Makes tool-call ids unique, as the vendor requires: callers that changed models may hold `call_0`
 * once in each turn. The n-th repetition and its result are renamed, alike on every request.
 */
const withUniqueCalls = (turns: Turn[]): Turn[] => {
  const used = new Set<string>();
  /** Original id -> unique ids of its calls, how many were tried, and how many calls have a result so far. */
  const calls = new Map<string, { names: string[]; tried: number; results: number }>();
  const callsOf = (id: string) => {
    const known = calls.get(id) ?? { names: [], tried: 0, results: 0 };
    calls.set(id, known);
    return known;
  };

  const nameCall = (id: string): string => {
    const known = callsOf(id);
    let unique = id;
    do {
      known.tried += 1;
      if (known.tried > 1) unique = `${id}_${known.tried}`;
    } while (used.has(unique));
    used.add(unique);
    known.names.push(unique);
    return unique;
  };

  /** Results of calls with the same id come in the order of the calls. */
  const nameResult = (id: string): string => {
    const known = callsOf(id);
    const name = known.names[known.results] ?? known.names.at(-1) ?? id;
    known.results = Math.min(known.results + 1, known.names.length);
    return name;
  };

  return renameCalls(turns, nameCall, nameResult);
};

/** Results first: the vendor rejects another order. */
const resultsFirst = (blocks: Block[]): Block[] => [
  ...blocks.filter(({ type }) => type === 'tool-result'),
  ...blocks.filter(({ type }) => type !== 'tool-result'),
];

/** Merges consecutive turns of one role; the vendor does the same. */
const mergeTurns = (turns: Turn[]): Turn[] =>
  joinRuns(turns, (last, next) => last.role === next.role && next.role !== 'system').map(
    (turn) => ({ ...turn, blocks: resultsFirst(turn.blocks) }),
  );

/** The vendor rejects white space at the end of a prefilled response; of earlier ones too, so that they stay the same. */
const trimEnd = (turn: Turn): Turn => {
  const block = turn.blocks.at(-1);
  return turn.role === 'assistant' && block?.type === 'text'
    ? { ...turn, blocks: turn.blocks.with(-1, { ...block, text: block.text.trimEnd() }) }
    : turn;
};

/** The vendor requires a user turn first; callers of other protocols may start with any role. */
const PLACEHOLDER = { role: 'user', content: '(continue)' };

/** False if no content is left, e.g. of a turn that held only thinking of another upstream, and the turn sets no option. */
const isSent = ({ role, blocks, extras }: Turn): boolean =>
  blocks.some((block) => block.type.startsWith('tool-') || encodeContent([block]) !== '') ||
  (role === 'system' && !isEmpty(extraFieldsFor('messages', extras)));

const encodeConversation = (turns: Turn[]): Json[] =>
  mergeTurns(withUniqueCalls(turns.filter(isSent))).map(({ role, blocks, extras }) =>
    omitUndefined({
      ...extraFieldsFor('messages', extras),
      role,
      content: encodeContent(blocks) || undefined,
    }),
  );

const encodeMessages = (
  turns: Turn[],
  { extras }: GenerationRequest,
  { systemTurns }: WireTarget,
): Json[] => {
  if (extras.protocol === 'messages') {
    const messages = encodeConversation(systemTurns === 'leading' ? turns.map(asReminder) : turns);
    if (messages.length === 0) throw noContent();
    return messages;
  }
  const messages = encodeConversation(turns.map((turn) => trimEnd(asReminder(turn))));
  return messages[0]?.role === 'user' ? messages : [PLACEHOLDER, ...messages];
};

/**
 * The conversation as `system`, from the leading system turns, and `messages`.
 * @throws ApiError 400 when a request of this protocol has no content.
 */
export const encodeTurns = (request: GenerationRequest, target: WireTarget) => {
  const [lead, later] = leadOf(request.turns);
  const blocks = lead.flatMap((turn) => turn.blocks);
  const system = encodeContent(target.billingLine === false ? spokenBlocks(blocks) : blocks);
  const messages = encodeMessages(later, request, target);
  return omitUndefined({ system: system === '' ? undefined : system, messages });
};
