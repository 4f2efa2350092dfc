import type { Block, GenerationRequest } from './generation.ts';
import { asRecord, asString } from './json.ts';
import { isPdf } from './media.ts';
import type { ProtocolName } from './protocol-name.ts';

/** Something that only upstreams of `protocol` can be told; `name` is how an error calls it. */
export type NativePart = { protocol: ProtocolName; name: string };

const part = (protocol: ProtocolName, name: string): NativePart[] => [{ protocol, name }];

/** `web_search_20250305`, or `document (file)` where it is the source that is foreign. */
const nameOf = (value: Record<string, unknown>): string => {
  const name = asString(value.type) ?? 'unknown';
  const source = asString(asRecord(value.source)?.type);
  return source === undefined ? name : `${name} (${source})`;
};

const partsOf = (block: Block): NativePart[] => {
  switch (block.type) {
    case 'foreign':
      return [{ protocol: block.protocol, name: nameOf(block.value) }];
    case 'tool-result':
      return block.content.flatMap(partsOf);
    case 'document': {
      const { source, extras } = block;
      if (source.kind === 'text') return [];
      // A chat caller's PDF by URL came as an image, and can go on as one.
      if (source.kind === 'url') {
        return extras?.protocol === 'chat' ? [] : part('messages', 'document by URL');
      }
      const isReadable = isPdf(source) || source.mediaType.startsWith('text/');
      return isReadable ? [] : part('chat', source.mediaType);
    }
    default:
      return [];
  }
};

/** The chat vendor's limit. */
const MAX_CHAT_STOPS = 4;

const stopsOf = ({ stop = [] }: GenerationRequest): NativePart[] => [
  ...(stop.length > MAX_CHAT_STOPS ? part('messages', 'more than 4 stop sequences') : []),
  // The messages vendor refuses them; dropping one would let the model run on.
  ...(stop.some((text) => text.trim() === '') ? part('chat', 'stop sequence of white space') : []),
];

/**
 * What the caller says that only one protocol can carry. Parts of the assistant's own past are left out:
 * a wire that does not know them does without them.
 */
export const nativeParts = (request: GenerationRequest): NativePart[] => [
  ...request.turns.flatMap(({ role, blocks }) =>
    role === 'assistant' ? [] : blocks.flatMap(partsOf),
  ),
  ...(request.tools ?? []).flatMap((tool) =>
    'foreign' in tool ? [{ protocol: tool.protocol, name: nameOf(tool.value) }] : [],
  ),
  ...stopsOf(request),
];
