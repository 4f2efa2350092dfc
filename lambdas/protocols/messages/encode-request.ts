import { isWithinStrict, marksOf, withMarksFor } from '#late/crossing';
import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { withEdits } from '../bytes/edits.ts';
import { asArray, asRecord, type Json } from '../bytes/json.ts';
import { markingOf } from '../cache/marks.ts';
import { rejectedMembers } from '../cache/members.ts';
import type { GenerationRequest, NativeTool, Tool } from '../generation.ts';
import { instructionEdits } from '../instructions.ts';
import { extraFieldsFor } from '../ledger/extras.ts';
import type { WireTarget } from '../protocol.ts';
import { sharedFor } from '../shared-members.ts';
import { fieldsOf } from './encode-content.ts';
import { encodeTurns } from './encode-turns.ts';
import { withCallerBetas } from './headers.ts';
import { encodeEffort, fitTo } from './request.ts';
import { encodeResponseFormat } from './response-format.ts';
import { encodeThinking } from './thinking.ts';
import { encodeToolChoice, originalTool } from './tools.ts';

/** Chat callers put a tool's extra fields next to its `function` or inside it. */
const toolFields = ({ extras }: Tool): Json => {
  const inside = asRecord(extras?.fields.function);
  return {
    ...fieldsOf(extras && inside && { protocol: extras.protocol, fields: inside }),
    ...fieldsOf(extras),
  };
};

/** Strict mode accepts fewer schemas than chat's. */
const strictOf = ({ strict, parameters }: Tool, sameProtocol: boolean): boolean | undefined =>
  sameProtocol || !strict || isWithinStrict(parameters) ? strict : undefined;

const encodeTool = (tool: Tool | NativeTool, sameProtocol: boolean): Json[] => {
  if ('native' in tool) return tool.protocol === 'messages' ? [tool.value] : [];
  const original = originalTool(tool);
  if (original) return [original];
  const { name, description, parameters } = tool;
  const strict = strictOf(tool, sameProtocol);
  // The vendor requires an object schema; chat functions may have no parameters.
  const schema = { type: 'object', ...parameters };
  return [omitUndefined({ ...toolFields(tool), name, description, input_schema: schema, strict })];
};

const encodeTools = ({ tools = [], extras }: GenerationRequest): Json[] =>
  tools.flatMap((tool) => encodeTool(tool, extras.protocol === 'messages'));

const encodeOutputConfig = (request: GenerationRequest) => {
  const config = omitUndefined({
    effort: encodeEffort(request),
    format: encodeResponseFormat(request),
  });
  return isEmpty(config) ? undefined : config;
};

/** The vendor's limit on end-user ids; callers of other protocols may exceed it. */
const MAX_USER_LENGTH = 256;

const encodeUser = ({ user, extras }: GenerationRequest) =>
  user === undefined || (extras.protocol !== 'messages' && user.length > MAX_USER_LENGTH)
    ? undefined
    : { user_id: user };

/** A field made of its passed-through members and its canonical ones; absent if it has neither. */
const mergeField = (passthrough: unknown, canonical: object | undefined) =>
  passthrough === undefined && canonical === undefined
    ? undefined
    : { ...asRecord(passthrough), ...canonical };

/** @throws ApiError 400 when no part of the conversation has a form in this protocol. */
export const encodeRequest = (
  original: GenerationRequest,
  catalogTarget: WireTarget,
): Record<string, unknown> => {
  const target = withCallerBetas(catalogTarget, original);
  const fitted = fitTo(original, target).request;
  const request = withMarksFor(fitted, { to: 'messages', profile: target });
  const passthrough = extraFieldsFor('messages', request.extras);
  const {
    thinking: _thinking,
    context_management: _management,
    output_config: config,
    metadata,
    ...fields
  } = passthrough;
  const shared = sharedFor('messages', request);
  const tools = encodeTools(request);
  const { maxTokens } = request;
  const limit = target.maxOutputTokens;
  const isLowered = maxTokens !== undefined && maxTokens > limit;
  const cap = isLowered ? limit : Number.POSITIVE_INFINITY;
  const { thinking, sampling, contextManagement } = encodeThinking(request, passthrough, {
    target,
    cap,
  });
  const wire: Json = omitUndefined({
    ...fields,
    ...shared,
    model: target.model,
    ...encodeTurns(request, target),
    max_tokens: isLowered ? limit : (maxTokens ?? limit),
    stream: request.stream,
    ...sampling,
    stop_sequences: request.stop,
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: tools.length > 0 ? encodeToolChoice(request) : undefined,
    thinking,
    output_config: mergeField(config ?? shared.output_config, encodeOutputConfig(request)),
    context_management: contextManagement,
    metadata: mergeField(metadata ?? shared.metadata, encodeUser(request)),
  });
  const { by, why } = markingOf(original, target);
  const marked = by === 'router' ? withEdits(wire, marksOf(wire, why)) : wire;
  const { instructions } = request;
  return withEdits(marked, [
    ...rejectedMembers(marked, target),
    ...(instructions ? instructionEdits(asArray(marked.messages), instructions, false) : []),
  ]);
};
