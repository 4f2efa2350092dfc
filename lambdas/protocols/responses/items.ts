import { invalidRequest } from '../../support/errors.ts';
import { omitUndefined } from '../../support/objects.ts';
import type { Json } from '../bytes/json.ts';
import { markOf } from '../cache/members.ts';
import type { Block, Tool, ToolCallBlock, Turn } from '../generation.ts';
import { extrasIfAny } from '../ledger/extras.ts';
import { assertImage, isPdf, parseFileData, parseMediaUrl } from '../media.ts';
import { openThinking } from '../thinking/sealed.ts';
import { readCarriedId } from '../tools/carried-ids.ts';
import { joinRuns } from '../turn-runs.ts';
import { clientCallIn, clientResultIn } from './client-tools.ts';
import { decodeTools, flatName } from './tools.ts';
import type {
  ClientCallItem,
  ClientOutputItem,
  Content,
  ContentPart,
  InputItem,
  ResponsesRequest,
  ResultItem,
} from './wire.ts';

type PartOf<T extends ContentPart['type']> = Extract<ContentPart, { type: T }>;
type ItemOf<T extends InputItem['type']> = Extract<InputItem, { type: T }>;

const reject = (param: string, message: string) =>
  invalidRequest(`${param}: ${message}`, { param });

// --- content ---

const NO_FILES = 'files are not stored here; send the content itself, as a data URL.';

/** The mark of a cached prefix, which parts of chat have too. */
const cacheFields = (part: ContentPart): Json => {
  const mark = markOf(part);
  return mark ? { [mark.name]: mark.value } : {};
};

const decodeImage = (part: PartOf<'input_image'>, param: string): Block => {
  const { image_url: url, detail } = part;
  if (url === undefined) throw reject(`${param}.file_id`, NO_FILES);
  const field = `${param}.image_url`;
  const source = parseMediaUrl(url, field);
  const marked = cacheFields(part);
  if (isPdf(source)) return { type: 'document', source, ...extrasIfAny('chat', marked) };
  // Chat has the same member.
  const fields = detail === undefined ? marked : { ...marked, image_url: { detail } };
  return { type: 'image', source: assertImage(source, field), ...extrasIfAny('chat', fields) };
};

const decodeFile = (part: PartOf<'input_file'>, param: string): Block => {
  const { file_data: data, file_url: url, filename: title } = part;
  if (data === undefined && url === undefined) throw reject(`${param}.file_id`, NO_FILES);
  const source =
    data === undefined
      ? parseMediaUrl(url ?? '', `${param}.file_url`)
      : parseFileData(data, title, `${param}.file_data`);
  return {
    type: 'document',
    source,
    ...omitUndefined({ title }),
    ...extrasIfAny('chat', cacheFields(part)),
  };
};

/** Only targets of the protocol take it, as it is: a compacted conversation, and what the vendor adds tomorrow. */
const decodeUnknown = ({ value }: { type: 'other'; value: Json }): Block => ({
  type: 'native',
  protocol: 'responses',
  value,
});

const decodePart = (part: ContentPart, param: string): Block => {
  switch (part.type) {
    case 'other':
      return decodeUnknown(part);
    case 'input_image':
      return decodeImage(part, param);
    case 'input_file':
      return decodeFile(part, param);
    case 'refusal':
      return { type: 'text', text: part.refusal, refusal: true };
    case 'input_audio':
      // Chat has the same part.
      return { type: 'native', protocol: 'chat', value: part };
    default:
      return { type: 'text', text: part.text, ...extrasIfAny('chat', cacheFields(part)) };
  }
};

const decodeContent = (content: Content, param: string): Block[] => {
  if (typeof content !== 'string') {
    return content.map((part, index) => decodePart(part, `${param}.${index}`));
  }
  return content === '' ? [] : [{ type: 'text', text: content }];
};

// --- items ---

const decodeReasoning = (item: ItemOf<'reasoning'>) => {
  const { summary = [], content = [], encrypted_content: sealed } = item;
  const opened = sealed === undefined ? undefined : openThinking(sealed);
  // Of another service: its text may help, its seal cannot be checked. Open models send it whole.
  const parts = content.length > 0 ? content : summary;
  const text = parts.flatMap((part) => part.text ?? []).join('\n\n');
  // A target of the protocol gets open content as it is; another service's seal alone is named as lost.
  const isOpen = sealed === undefined && content.length > 0;
  const thinking = opened ?? {
    text,
    ...(isOpen && extrasIfAny('responses', { content })),
    ...(text === '' && sealed !== undefined && { signature: sealed }),
  };
  return text !== '' || sealed !== undefined ? [{ type: 'thinking' as const, ...thinking }] : [];
};

/** For models that know no agents: what the user says, with who said it to whom. */
const decodeAgentMessage = (item: ItemOf<'agent_message'>): Turn => {
  const { author = 'an agent', recipient = 'this agent', content } = item;
  const said = content.flatMap((part) => (part.type === 'other' ? [] : part.text)).join('\n\n');
  const text = `Message from ${author} to ${recipient}:\n\n${said}`;
  return { role: 'user', blocks: said === '' ? [] : [{ type: 'text', text }] };
};

const decodeCall = (
  item: { call_id: string; name: string; namespace?: string | undefined },
  text: string,
): ToolCallBlock => ({
  type: 'tool-call',
  ...readCarriedId(item.call_id),
  name: flatName(item),
  arguments: text,
});

/**
 * A reference to reasoning is dropped: thinking that is lost costs quality, not content. Any other
 * item is a part of the conversation.
 */
const decodeReference = ({ id }: ItemOf<'item_reference'>, param: string): Block[] => {
  if (id.startsWith('rs_')) return [];
  throw reject(
    param,
    'item references need a plan with "state". Send the items themselves (Vercel AI SDK: providerOptions.openai.store = false).',
  );
};

/** Items of tools that the vendor runs, and of its agents' thoughts: its own past, which no other model can continue. */
const HOSTED =
  /^(?:\w+_call(?:_output)?|mcp_\w+|tool_search_output|program(?:_output)?|agent_reasoning)$/;

const assistant = (blocks: Block[]): Turn => ({ role: 'assistant', blocks });

const roleOf = ({ role }: ItemOf<'message'>): Turn['role'] =>
  role === 'developer' ? 'system' : role;

type CallItem = ItemOf<'function_call'> | ItemOf<'custom_tool_call'>;

/** What results say of their calls, in the order of the items. */
const createCallIds = () => {
  /** Calls without a result, the oldest first. */
  const open: { id: string; name: string }[] = [];
  /** Ids of calls by those of their items. */
  const byItem = new Map<string, string>();

  const take = (found: (call: (typeof open)[number]) => boolean): string | undefined => {
    const index = open.findIndex(found);
    return index === -1 ? undefined : open.splice(index, 1)[0]?.id;
  };
  return {
    add: (call: CallItem) => open.push({ id: call.call_id, name: flatName(call) }),
    addClient: ({ id, call_id }: ClientCallItem) => id !== undefined && byItem.set(id, call_id),
    /** Of a result without an id: the oldest call, of the tool that it names. Undefined: none was made. */
    of: ({ call_id: id, name = '', namespace }: ResultItem): string | undefined => {
      const tool = flatName({ name, namespace });
      const taken = take((call) =>
        id === undefined ? ['', call.name].includes(tool) : call.id === id,
      );
      const callId = id ?? taken;
      return callId === undefined ? undefined : readCarriedId(callId).id;
    },
    /**
     * Of the oldest shell: its results name the item, or the call, by their own id.
     *
     * @throws ApiError 400
     */
    ofClient: ({ call_id, id }: ClientOutputItem, param: string): string => {
      const callId = call_id ?? byItem.get(id ?? '') ?? id;
      if (callId === undefined) throw reject(`${param}.call_id`, 'is required.');
      return readCarriedId(callId).id;
    },
  };
};

/** Returns the decoder of a conversation's items, which come in order. */
const createItemDecoder = () => {
  const callIds = createCallIds();

  const decodeNamedCall = (item: CallItem): Turn => {
    callIds.add(item);
    if (item.type === 'function_call') return assistant([decodeCall(item, item.arguments)]);
    return assistant([{ ...decodeCall(item, item.input), custom: true }]);
  };

  const decodeResult = (item: ResultItem, param: string): Turn => {
    const content = decodeContent(item.output, `${param}.output`);
    const callId = callIds.of(item);
    if (callId !== undefined) {
      return { role: 'user', blocks: [{ type: 'tool-result', callId, content }] };
    }
    // Clients add what their own tools found, without a call of the model.
    const { name, namespace } = item;
    if (name === undefined) throw reject(`${param}.call_id`, 'is required.');
    const heading = { type: 'text' as const, text: `Output of ${flatName({ name, namespace })}:` };
    return { role: 'user', blocks: [heading, ...content] };
  };

  const decodeClientCall = (item: ClientCallItem): Turn => {
    callIds.addClient(item);
    const { name, text } = clientCallIn(item);
    return assistant([decodeCall({ call_id: item.call_id, name }, text)]);
  };

  const decodeClientResult = (item: ClientOutputItem, param: string): Turn => {
    const callId = callIds.ofClient(item, param);
    return { role: 'user', blocks: [{ type: 'tool-result', callId, ...clientResultIn(item) }] };
  };

  return (item: InputItem, param: string): Turn | undefined => {
    switch (item.type) {
      case 'message':
        return { role: roleOf(item), blocks: decodeContent(item.content, `${param}.content`) };
      case 'reasoning':
        return assistant(decodeReasoning(item));
      case 'function_call':
      case 'custom_tool_call':
        return decodeNamedCall(item);
      case 'function_call_output':
      case 'custom_tool_call_output':
        return decodeResult(item, param);
      case 'item_reference':
        return assistant(decodeReference(item, param));
      case 'agent_message':
        return decodeAgentMessage(item);
      case 'additional_tools':
        return undefined;
      case 'apply_patch_call':
      case 'shell_call':
      case 'local_shell_call':
        return decodeClientCall(item);
      case 'apply_patch_call_output':
      case 'shell_call_output':
      case 'local_shell_call_output':
        return decodeClientResult(item, param);
      default:
        return HOSTED.test(item.value.type)
          ? undefined
          : { role: 'user', blocks: [decodeUnknown(item)] };
    }
  };
};

const holdsResults = ({ blocks }: Turn): boolean =>
  blocks.length > 0 && blocks.every(({ type }) => type === 'tool-result');

/** One response of a model is several items, and one turn; so are the results of its calls. */
const isContinued = (turn: Turn, next: Turn): boolean =>
  turn.role === next.role &&
  (turn.role === 'assistant' || (holdsResults(turn) && holdsResults(next)));

/** The conversation, and the tools that items add. */
export const decodeInput = (input: ResponsesRequest['input']): { turns: Turn[]; tools: Tool[] } => {
  if (typeof input === 'string') {
    const turns: Turn[] = [{ role: 'user', blocks: decodeContent(input, 'input') }];
    return { turns, tools: [] };
  }
  const decodeItem = createItemDecoder();
  const turns = input.map((item, index) => decodeItem(item, `input.${index}`));
  const tools = decodeTools(
    input.flatMap((item) => (item.type === 'additional_tools' ? item.tools : [])),
  );
  return {
    turns: joinRuns(
      turns.filter((turn) => turn !== undefined),
      isContinued,
    ),
    tools,
  };
};
