import type { SamplingField, ThinkingForm } from '../profile.ts';

/** One member of a profile, as a provider's rejection shows that it must be. */
export type ModelDifference =
  | { member: 'thinking'; without: ThinkingForm[]; use: ThinkingForm[] }
  /** `whenThinking`: perhaps only where the model thinks. */
  | { member: 'sampling'; without: readonly SamplingField[]; whenThinking?: true }
  | { member: 'betas' | 'versions' | 'cache' | 'hints' | 'schema'; without: string[] }
  | { member: 'effort'; only: readonly string[] }
  | {
      member:
        | 'effortWithTools'
        | 'forcedTool'
        | 'samplingWithEffort'
        | 'temperatureWithTopP'
        | 'billingLine'
        | 'customTools'
        | 'stop'
        | 'streamOptions'
        | 'parallelTools';
      is: false;
    }
  | { member: 'metadata'; is: 'stored' }
  | { member: 'content'; is: 'text' }
  | { member: 'items'; is: 'common' }
  | { member: 'systemTurns'; is: 'leading' | 'none' }
  | { member: 'turns'; is: 'alternating' }
  | { member: 'toolCallIds'; is: 'short' | 'limited' }
  | { member: 'reasoningHistory'; is: 'required' | 'refused' }
  | { member: 'maxTokensField'; is: 'max_tokens' | 'max_completion_tokens' }
  | OfRequest;

/**
 * Of one request, not of the model: the thinking in its history is not valid, it thinks and may not force a tool, a block
 * may not be marked, or its prompt leaves room for fewer tokens of output.
 */
type OfRequest =
  | { member: 'history' }
  | { member: 'cap'; is: number }
  | { member: 'toolChoice' }
  | { member: 'marks'; without: string[] };

/** The difference that rejections with these words name; `found` is what the groups matched. */
export type Rule = [words: RegExp, read: (...found: string[]) => ModelDifference | undefined];
