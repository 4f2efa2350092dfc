import { createState } from '#late/state';
import type { Call, Endpoint } from '../endpoints/endpoint.ts';
import type { StateMode } from '../stores/plan-store.ts';
import type { RouterStores } from '../stores/router-stores.ts';
import { ApiError, invalidRequest } from '../support/errors.ts';
import type { State, StateDeps } from './create-state.ts';

type Parts = Omit<StateDeps, 'responses' | 'openWebhooks'> & {
  /** The stage's, for plans without one. */
  mode: StateMode;
  countTokens: Endpoint;
} & Pick<RouterStores, 'openResponses' | 'openWebhooks'>;

const notStored = () =>
  invalidRequest(
    'The plan of this API key stores no responses: send whole conversations, or have "state" set.',
  );

/** All that a request enters of this folder which does not use the state: the rest is a late part of the bundle. */
export const createStateEndpoints = ({ mode, openResponses, openWebhooks, ...parts }: Parts) => {
  const { generate, countTokens } = parts;
  const modeOf = ({ caller: { plan } }: Call): StateMode => plan.state ?? mode;
  let state: State | undefined;
  const open = (): State => {
    if (!openResponses || !openWebhooks) throw notStored();
    state ??= createState({ ...parts, responses: openResponses(), openWebhooks });
    return state;
  };
  /** What was stored can be read and deleted, also if the plan stores no more. */
  const read =
    (name: Exclude<keyof State, 'respond' | 'whole' | 'repeatEvents'>): Endpoint =>
    async (call) => {
      try {
        return await open()[name](call);
      } catch (error) {
        const isMissing = error instanceof ApiError && error.status === 404;
        throw isMissing && modeOf(call) === 'off' ? notStored() : error;
      }
    };
  const respond: Endpoint = (call) => {
    const allowed = modeOf(call);
    return allowed === 'off' || !openResponses ? generate(call) : open().respond(call, allowed);
  };
  const countInput = async (call: Call) => {
    const allowed = modeOf(call);
    const isWhole = allowed === 'off' || !openResponses;
    return countTokens(isWhole ? call : await open().whole(call, allowed));
  };
  return {
    /** Sends what is still owed to webhooks. @throws StoreUnavailable */
    repeatEvents: async () => {
      if (openResponses) await open().repeatEvents();
    },
    respond,
    countInput,
    getResponse: read('getResponse'),
    cancelResponse: read('cancelResponse'),
    deleteResponse: read('deleteResponse'),
    listInputItems: read('listInputItems'),
  };
};
