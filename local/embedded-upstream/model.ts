import type {
  AnswerBlock,
  Block,
  Generation,
  GenerationRequest,
  Usage,
} from '../../lambdas/protocols/generation.ts';
import { bound, outputTokens } from './bounds.ts';
import { readDirectives } from './directives.ts';
import { readPrompt } from './prompt.ts';
import { replyText } from './reply.ts';
import { planCalls } from './tool-plan.ts';
import { countTokens } from './words.ts';

/** What an answer takes from the provider whose style the upstream speaks in. */
export type ModelStyle = {
  newCallId(): string;
  /** Proof of a thinking block, where the provider signs them. */
  sign(thinking: string): string | undefined;
};

/** What a vendor charges for a small picture, so that images weigh something. */
const IMAGE_TOKENS = 85;

const inputOf = (block: Block): number => {
  switch (block.type) {
    case 'text':
    case 'thinking':
      return countTokens(block.text);
    case 'tool-call':
      return countTokens(block.arguments);
    case 'tool-result':
      return block.content.reduce((sum, part) => sum + inputOf(part), 0);
    default:
      return IMAGE_TOKENS;
  }
};

const usageOf = (request: GenerationRequest, blocks: AnswerBlock[]): Usage => {
  const said = request.turns.flatMap((turn) => turn.blocks);
  const tools = countTokens(JSON.stringify(request.tools ?? [], undefined, 1)) - 1;
  const reasoningTokens = outputTokens(blocks.filter(({ type }) => type === 'thinking'));
  return {
    inputTokens: said.reduce((sum, block) => sum + inputOf(block), tools),
    outputTokens: outputTokens(blocks),
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
  };
};

const think = (text: string | undefined, style: ModelStyle): AnswerBlock[] => {
  if (text === undefined) return [];
  const signature = style.sign(text);
  return [{ type: 'thinking', text, ...(signature === undefined ? {} : { signature }) }];
};

/** The embedded model: a pure function of the request, ids aside. Its tokens are words. */
export const generate = (request: GenerationRequest, style: ModelStyle): Generation => {
  const prompt = readPrompt(request);
  const directives = readDirectives(prompt.text);
  const calls = planCalls(request, directives);
  const answer: AnswerBlock[] =
    calls.length > 0
      ? calls.map((call) => ({ type: 'tool-call', id: style.newCallId(), ...call }))
      : [{ type: 'text', text: replyText(request, prompt, directives) }];
  const { blocks, reason } = bound(
    {
      blocks: [...think(directives.think, style), ...answer],
      reason: { unified: calls.length > 0 ? 'tool-calls' : 'stop' },
    },
    request,
  );
  return { blocks, reason, usage: usageOf(request, blocks) };
};
