import type { ApiError } from '../../support/errors.ts';
import type { SseMessage } from '../streams/sse.ts';

/** The vendor's text for a prompt that is too long: chat clients shorten their history when they find it. */
const overflowText = ({ counts }: NonNullable<ApiError['overflow']>): string => {
  const howFar = counts
    ? `This model's maximum context length is ${counts.most} tokens. However, your messages resulted in ${counts.tokens} tokens.`
    : "The messages exceed this model's maximum context length.";
  return `${howFar} Please reduce the length of the messages.`;
};

/** The official SDK exposes `param` and `code`. */
export const encodeError = ({
  type,
  message,
  param,
  code,
  overflow,
}: ApiError): Record<string, unknown> => ({
  error: {
    type,
    message: overflow ? `${message}. ${overflowText(overflow)}` : message,
    param: param ?? null,
    code: code ?? null,
  },
});

/**
 * One last message without `choices`: some clients raise on the event's name, the others on `error` in its
 * data, which the Vercel AI SDK drops if `choices` accompany it. No `finish_reason` or `[DONE]` precedes or
 * follows: clients read them as the end of a complete response.
 */
export const encodeStreamError = (error: ApiError): SseMessage[] => [
  { event: 'error', data: JSON.stringify(encodeError(error)) },
];
