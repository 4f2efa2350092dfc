/** Paths of the families' newer or older APIs, which SDKs call by default settings. */
const ELSEWHERE: Record<string, string> = {
  '/v1/responses':
    'The Responses API is not offered; use POST /v1/chat/completions (in SDKs: the chat completions API).',
  '/v1/completions': 'Text completions are not offered; use POST /v1/chat/completions.',
  '/v1/complete': 'Text completions are not offered; use POST /v1/messages.',
};

const BASE_ADDRESSES =
  "Chat-completions SDKs take the base address with '/v1', messages SDKs without it.";

/**
 * Why there may be nothing at `path`, as one public sentence or two. The path itself is not repeated:
 * people paste keys into addresses.
 */
export const hintFor = (path: string, patterns: string[]): string => {
  const elsewhere = ELSEWHERE[path];
  if (elsewhere) return elsewhere;
  if (path.startsWith('/v1/v1/')) return `The path has '/v1' twice. ${BASE_ADDRESSES}`;
  if (patterns.includes(`/v1${path}`)) return `The path lacks '/v1'. ${BASE_ADDRESSES}`;
  if (path.includes('//'))
    return 'No such path. It has two slashes in a row: the base address ends without one.';
  if (path.length > 1 && path.endsWith('/')) return 'No such path. Paths have no trailing slash.';
  return `No such path. This service has ${patterns.filter((p) => p.startsWith('/v1')).join(', ')}.`;
};
