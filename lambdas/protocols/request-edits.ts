import { editMessages, setMembers, withEdits } from './bytes/edits.ts';
import { asArray, asString, type Json } from './bytes/json.ts';
import { type Edit, set } from './bytes/splice.ts';
import { rejectedMembers, sessionKey } from './cache/members.ts';
import type { Fitted } from './fit-request.ts';
import type { GenerationRequest } from './generation.ts';
import { instructionEdits } from './instructions.ts';
import type { WireTarget } from './protocol.ts';
import type { ProtocolName } from './protocol-name.ts';
import { readCarriedId } from './tools/carried-ids.ts';

/** What the edits of a request depend on. `fitted`: the request as the target's model accepts it. */
export type Context = {
  request: GenerationRequest;
  fitted: GenerationRequest;
  target: WireTarget;
  received: Json;
};

/** What is due of one kind. A law holds each to the members that it may touch (edit-laws.test.ts). */
export type Edits = (context: Context) => Edit[];

const names: Edits = ({ received, request: { stream }, target: { model } }) =>
  setMembers(received, { model, ...((stream || received.stream != null) && { stream }) });

/** The upstream's id of a call whose id in responses carries more. */
export const idEdits = (holder: Json, name: string): Edit[] => {
  const sent = asString(holder[name]) ?? '';
  const { id } = readCarriedId(sent);
  return id === sent ? [] : [set([name], id)];
};

/** A history as `encoded`, where the vendor would reject it as it is. `isJoined`: as of `instructionEdits`. */
export const repairEdits = (
  encoded: Json,
  { received, fitted, target }: Context,
  isJoined: boolean,
): Edit[] => {
  const { instructions } = fitted;
  const { messages, ...others } = withEdits(encoded, [
    ...(instructions ? instructionEdits(asArray(encoded.messages), instructions, isJoined) : []),
    ...rejectedMembers(encoded, target),
  ]);
  return [
    ...setMembers(received, others),
    ...editMessages(asArray(received.messages), asArray(messages)),
  ];
};

/** The session's key, and without the members about caches that the target has rejected. */
const caching: Edits = ({ received, request, target }) => {
  const key = sessionKey(request, target);
  return [
    ...(key === undefined ? [] : [set(['prompt_cache_key'], key)]),
    ...rejectedMembers(received, target),
  ];
};

/** The edits that make the received text of a request in `protocol` what a target of it accepts; undefined for others. */
export const createEditsOf =
  (protocol: ProtocolName, fitTo: (request: GenerationRequest, target: WireTarget) => Fitted) =>
  (...kinds: Edits[]) =>
  (request: GenerationRequest, target: WireTarget, received: Json): Edit[] | undefined => {
    if (request.extras.protocol !== protocol) return undefined;
    const context = { request, fitted: fitTo(request, target).request, target, received };
    return [names, ...kinds, caching].flatMap((editsIn) => editsIn(context));
  };
