import { type Asked, askFor } from './ask.ts';

/**
 * What a caller knows of one of their requests; `broken`: the connection broke after some content, `unknown`: before
 * any.
 */
export type Outcome = 'charged' | 'free' | 'broken' | 'unknown';

const CONTENT = /"delta":\{"(?:role":"assistant",")?content":"[^"]|"text_delta"/;
const FAILURE = /event: error/;

const readStream = async (response: Response, onContent: () => void): Promise<Outcome> => {
  let text = '';
  try {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (CONTENT.test(text)) onContent();
    }
  } catch {
    return CONTENT.test(text) ? 'broken' : 'unknown';
  }
  return FAILURE.test(text) ? 'free' : 'charged';
};

const readWhole = async (response: Response): Promise<Outcome> => {
  try {
    await response.text();
    return 'charged';
  } catch {
    return 'unknown';
  }
};

/**
 * Sends one generation and judges it by the published rules of what is charged. `onContent` is called
 * with each chunk of a stream that has content.
 */
export const generate = async (
  url: string,
  asked: Asked & { stream: boolean },
  onContent: () => void = () => undefined,
): Promise<Outcome> => {
  let response: Response;
  try {
    response = await askFor(url, asked);
  } catch {
    return 'unknown';
  }
  if (response.status !== 200) {
    await response.text().catch(() => '');
    return 'free';
  }
  return asked.stream ? readStream(response, onContent) : readWhole(response);
};
