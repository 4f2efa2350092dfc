import type { Call } from '../endpoints/endpoint.ts';
import { asArray, asRecord, asString } from '../protocols/bytes/json.ts';
import type { StateMode } from '../stores/plan-store.ts';

/** What a request asks of the state. */
export type Asks = {
  /** Id of the response that it continues. */
  previous: string | undefined;
  isBackground: boolean;
  isStored: boolean;
};

const isReference = (item: unknown): boolean => asRecord(item)?.type === 'item_reference';

/** What the plan of a key allows; else the stage. */
export const modeOf = ({ caller: { plan } }: Pick<Call, 'caller'>, stage: StateMode): StateMode =>
  plan.state ?? stage;

/** Undefined of a request that is complete in itself, and of one whose key has no state: its endpoint rejects the members. */
export const readAsks = (
  call: Pick<Call, 'caller' | 'body'>,
  stage: StateMode,
): Asks | undefined => {
  const mode = modeOf(call, stage);
  if (mode === 'off') return undefined;
  const { previous_response_id, background, store, input } = asRecord(call.body) ?? {};
  const previous = asString(previous_response_id) || undefined;
  const isBackground = background === true;
  const isStored = store === true || (store == null && (mode === 'default' || isBackground));
  const isAsked = isStored || isBackground || previous !== undefined;
  return isAsked || asArray(input).some(isReference)
    ? { previous, isBackground, isStored }
    : undefined;
};
