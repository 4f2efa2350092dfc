import type { FinishReason } from './generation.ts';
import { UpstreamError } from './upstream-error.ts';

/** What an answer holds by the time its upstream says that it is finished. */
export type AnswerSoFar = {
  hasContent: boolean;
  hasTools: boolean;
  /** Name of the first tool whose arguments are not a JSON object. */
  brokenTool: string | undefined;
};

/** Some upstreams say `stop` beside tool calls, or `tool_calls` without one; agents act on the word. */
const fitting = (reason: FinishReason, hasTools: boolean): FinishReason => {
  if (hasTools && reason.unified === 'stop') return { unified: 'tool-calls' };
  if (!hasTools && reason.unified === 'tool-calls') return { unified: 'stop' };
  return reason;
};

/**
 * The finish reason that fits the answer. `mayBeEmpty`: a stop sequence may come first of all, so an
 * answer without content is one.
 * @throws UpstreamError when there is no answer, or tool arguments are not a JSON object.
 */
export const checkFinish = (
  reason: FinishReason,
  { hasContent, hasTools, brokenTool }: AnswerSoFar,
  mayBeEmpty: boolean,
): FinishReason => {
  const cutShort = reason.unified === 'length' || reason.unified === 'content-filter';
  if (!hasContent && !cutShort && !mayBeEmpty) {
    throw new UpstreamError('empty', 'finished without any content');
  }
  // A call cut off by the token cap is unfinished by nature; any other must be usable.
  if (brokenTool !== undefined && !cutShort) {
    throw new UpstreamError('malformed', `arguments of tool '${brokenTool}' are not a JSON object`);
  }
  return fitting(reason, hasTools);
};
