import { asArray, asString, readJson } from '../bytes/json.ts';
import type { ThinkingBlock } from '../generation.ts';

type Thinking = Pick<ThinkingBlock, 'text' | 'signature' | 'redacted'>;

/**
 * `encrypted_content` of a reasoning item: the thinking with its signature, opaque to callers. It holds
 * the text too, because a vendor rejects a signature whose text differs, and clients shorten summaries.
 */
export const sealThinking = ({ text, signature = '', redacted }: Thinking): string =>
  Buffer.from(JSON.stringify([signature, text, redacted === true])).toString('base64url');

/** The inverse; undefined for a text that `sealThinking` did not write. */
export const openThinking = (sealed: string): Thinking | undefined => {
  const [signature, text, redacted] = asArray(
    readJson(Buffer.from(sealed, 'base64url').toString('utf8')),
  );
  if (asString(signature) === undefined || asString(text) === undefined) return undefined;
  const thinking = { signature: String(signature), text: String(text) };
  return redacted === true ? { ...thinking, redacted } : thinking;
};
