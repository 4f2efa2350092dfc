import type {
  Message,
  RawContentBlockStartEvent,
  RawMessageStreamEvent,
  RedactedThinkingBlock,
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
} from '@anthropic-ai/sdk/resources/messages/messages';
import { expect, test } from 'vitest';
import type * as z from 'zod';
import { MessagesEvent, type TypedEvent, WholeMessage } from '../../support/messages-schema.ts';

/**
 * Two fields of the SDK's types are left out on purpose: callers echo blocks into their next request, and
 * upstreams that do not know `caller` or `citations` refuse it then.
 */
type Block =
  | Omit<TextBlock, 'citations'>
  | ThinkingBlock
  | RedactedThinkingBlock
  | Omit<ToolUseBlock, 'caller'>;
type Event =
  | Exclude<RawMessageStreamEvent, RawContentBlockStartEvent>
  | (Omit<RawContentBlockStartEvent, 'content_block'> & { content_block: Block });

/** These compile only while what the router's schema allows is what the SDK's types allow. */
const asEvent = (event: z.infer<typeof TypedEvent>): Event => event;
const asMessage = (
  message: Omit<z.infer<typeof WholeMessage>, 'content'>,
): Omit<Message, 'content'> => message;

test('the schema of messages events is within the types of the official SDK', () => {
  const stop = MessagesEvent.parse({ type: 'content_block_stop', index: 0 });
  expect(asEvent(stop as z.infer<typeof TypedEvent>)).toEqual(stop);
  expect(WholeMessage.safeParse(asMessage).success).toBe(false);
});
