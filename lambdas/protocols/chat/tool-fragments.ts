import type { EventWriter } from '../event-writer.ts';
import type { GenerationRequest } from '../generation.ts';
import { asRecord, asString, type Json } from '../json.ts';
import { UpstreamFault } from '../upstream-fault.ts';
import { callerToolNames } from './tool-names.ts';

type Call = { key: string; id: string | undefined; name: string; held: string; opened: boolean };

/** Ids must be unique in the conversation, so minted ones count on from the calls in its history. */
const createIdSource = (request: GenerationRequest) => {
  const taken = new Set(
    request.turns.flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.type === 'tool-call' ? [block.id] : [])),
    ),
  );
  let next = taken.size;
  const mint = (): string => {
    const id = `call_${next++}`;
    return taken.has(id) ? mint() : id;
  };
  return (wanted: string | undefined): string => {
    const id = wanted === undefined || taken.has(wanted) ? mint() : wanted;
    taken.add(id);
    return id;
  };
};

/**
 * Puts streamed tool-call fragments together. Fragments name their call by `index`, or by `id`, or by
 * neither; names may come late, ids and names may be repeated, empty or missing; calls interleave.
 */
export const createToolFragments = (request: GenerationRequest, writer: EventWriter) => {
  const calls: Call[] = [];
  const byIndex = new Map<number, Call>();
  const uniqueId = createIdSource(request);
  const callerName = callerToolNames(request);

  const begin = (id: string | undefined): Call => {
    const call = { key: `tool:${calls.length}`, id, name: '', held: '', opened: false };
    calls.push(call);
    return call;
  };

  /** An upstream that numbers all its calls 0 still tells them apart by id and name. */
  const isAnother = (call: Call, id: string | undefined, name: string): boolean =>
    id !== undefined && call.id !== undefined && id !== call.id && name !== '';

  const find = (index: unknown, id: string | undefined, name: string): Call => {
    if (typeof index !== 'number') {
      const known = id === undefined ? calls.at(-1) : calls.find((call) => call.id === id);
      // Without index and id, a name says that another call begins.
      const startsAnew = id === undefined && name !== '' && known?.opened === true;
      return known && !startsAnew ? known : begin(id);
    }
    const known = byIndex.get(index);
    if (known && !isAnother(known, id, name)) return known;
    const call = begin(id);
    byIndex.set(index, call);
    return call;
  };

  const open = (call: Call) => {
    writer.closeCompleteTools();
    writer.open(call.key, {
      type: 'tool-call',
      id: uniqueId(call.id),
      name: callerName(call.name),
    });
    call.opened = true;
    writer.delta(call.key, call.held);
  };

  const append = (call: Call, text: string) => {
    if (!call.opened) call.held += text;
    else if (writer.isOpen(call.key)) writer.delta(call.key, text);
    else if (text.trim() !== '') {
      throw new UpstreamFault('malformed', `arguments of '${call.name}' go on after their end`);
    }
  };

  const readArguments = (value: unknown): string =>
    asString(value) ?? (asRecord(value) ? JSON.stringify(value) : '');

  return {
    add(fragment: Json) {
      const called = asRecord(fragment.function) ?? {};
      const id = asString(fragment.id) || undefined;
      const name = asString(called.name) ?? '';
      const call = find(fragment.index, id, name);
      call.id ??= id;
      if (call.name === '') call.name = name;
      append(call, readArguments(called.arguments));
      if (!call.opened && call.name !== '') open(call);
    },
    /** @throws UpstreamFault when a call never got its name. */
    finish() {
      const nameless = calls.find(({ opened }) => !opened);
      if (nameless) throw new UpstreamFault('malformed', 'a tool call came without a name');
    },
  };
};
