import { asNumber, asRecord, asString, isJsonObject, type Json } from '../bytes/json.ts';
import type { GenerationRequest } from '../generation.ts';
import { extrasIfAny } from '../ledger/extras.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import type { EventWriter } from '../streams/event-writer.ts';
import { hasCustomTool, unwrapInput } from '../tools/custom.ts';
import { createToolIds } from '../tools/ids.ts';
import { callerToolNames } from '../tools/names.ts';

type Call = {
  key: string;
  id: string | undefined;
  name: string;
  text: string;
  custom: boolean;
  /** Its text is not known before the arguments of the function that represents the tool are whole. */
  isHeld: boolean;
  opened: boolean;
  /** What the upstream requires to be sent back, e.g. a signature of its thinking. */
  signed: Json | undefined;
};

type Fragment = {
  index: number | undefined;
  id: string | undefined;
  name: string;
  text: string;
  custom: boolean;
  signed: Json | undefined;
};

const readArguments = (value: unknown): string =>
  asString(value) ?? (asRecord(value) ? JSON.stringify(value) : '');

const readFragment = (wire: Json): Fragment => {
  const { index, id, function: ofFunction, custom, extra_content } = wire;
  const input = asRecord(custom);
  const { name, arguments: text } = asRecord(ofFunction) ?? {};
  return {
    index: asNumber(index),
    id: asString(id) || undefined,
    name: asString(input?.name) ?? asString(name) ?? '',
    text: asString(input?.input) ?? readArguments(text),
    custom: input !== undefined,
    signed: asRecord(extra_content),
  };
};

/** Whether a fragment with a call's index starts another call: some upstreams number all calls 0. */
const isAnother = (call: Call, { id, name, text }: Fragment): boolean => {
  if (name === '') return false;
  if (id !== undefined && call.id !== undefined) return id !== call.id;
  // Without ids, arguments that follow complete arguments belong to another call.
  return text !== '' && isJsonObject(call.text);
};

/**
 * Finds the call of a fragment. Fragments name it by `index`, by `id`, or not at all; names may come
 * late, ids and names may be repeated, empty or missing; calls interleave.
 */
const createCallFinder = () => {
  const calls: Call[] = [];
  const byIndex = new Map<number, Call>();
  const byId = new Map<string, Call>();

  const begin = (id: string | undefined): Call => {
    const key = `tool:${calls.length}`;
    const call: Call = {
      ...{ key, id, name: '', text: '', signed: undefined },
      ...{ custom: false, isHeld: false, opened: false },
    };
    calls.push(call);
    return call;
  };

  const findById = (id: string | undefined): Call | undefined =>
    id === undefined ? calls.at(-1) : byId.get(id);

  const findUnnumbered = ({ id, name }: Fragment): Call => {
    const call = findById(id);
    // Without index and id, a name starts another call.
    const isNext = id === undefined && name !== '' && call?.opened === true;
    return call && !isNext ? call : begin(id);
  };

  /** The call that a fragment of a new index continues: some upstreams begin a call with another index than the rest of it. */
  const findMisnumbered = ({ id, name }: Fragment): Call | undefined => {
    const call = findById(id);
    return name === '' && call && !isJsonObject(call.text) ? call : undefined;
  };

  const findByIndex = (index: number, fragment: Fragment): Call => {
    const current = byIndex.get(index) ?? findMisnumbered(fragment);
    const call = current && !isAnother(current, fragment) ? current : begin(fragment.id);
    byIndex.set(index, call);
    return call;
  };

  return {
    calls,
    /** The fragment's call; the fragment's id names it from now on. */
    find(fragment: Fragment): Call {
      const { index } = fragment;
      const call = index === undefined ? findUnnumbered(fragment) : findByIndex(index, fragment);
      call.id ??= fragment.id;
      if (call.id !== undefined && !byId.has(call.id)) byId.set(call.id, call);
      return call;
    },
  };
};

/** Assembles streamed tool-call fragments, each call under a separate key. */
export const createToolFragments = (request: GenerationRequest, writer: EventWriter) => {
  const { calls, find } = createCallFinder();
  const uniqueId = createToolIds(request);
  const callerName = callerToolNames(request);

  const open = (call: Call) => {
    writer.closeCompleteTools();
    writer.open(call.key, {
      type: 'tool-call',
      id: uniqueId(call.id),
      name: callerName(call.name),
      ...(call.custom && { custom: true }),
      ...extrasIfAny('chat', { extra_content: call.signed }),
    });
    call.opened = true;
    if (!call.isHeld) writer.delta(call.key, call.text);
  };

  const append = (call: Call, text: string) => {
    call.text += text;
    if (!call.opened || call.isHeld) return;
    if (writer.isOpen(call.key)) writer.delta(call.key, text);
    else if (text.trim() !== '') {
      throw new UpstreamError('malformed', `arguments of '${call.name}' continue after their end`);
    }
  };

  return {
    add(wire: Json) {
      const fragment = readFragment(wire);
      const call = find(fragment);
      if (call.name === '') call.name = fragment.name;
      if (!call.opened) {
        call.custom = hasCustomTool(request, callerName(call.name));
        call.isHeld = call.custom && !fragment.custom;
      }
      if (!call.opened && fragment.signed) call.signed = { ...call.signed, ...fragment.signed };
      append(call, fragment.text);
      if (!call.opened && call.name !== '') open(call);
    },
    /** @throws UpstreamError when a call has no name. */
    finish() {
      const nameless = calls.find(({ opened }) => !opened);
      if (nameless) throw new UpstreamError('malformed', 'a tool call came without a name');
      for (const { key, text, isHeld } of calls) if (isHeld) writer.delta(key, unwrapInput(text));
    },
  };
};
