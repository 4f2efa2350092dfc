import type { Endpoint } from '../endpoints/endpoint.ts';
import type { StateMode } from '../stores/plan-store.ts';
import { ApiError, invalidRequest } from '../support/errors.ts';
import { modeOf, readAsks } from './asks.ts';
import type { State } from './create-state.ts';

type Parts = {
  /** The stage's, for plans without one. */
  mode: StateMode;
  generate: Endpoint;
  /** Loads the rest of this folder, with its store; undefined if nothing can be stored. */
  open: (() => Promise<State>) | undefined;
};

const notStored = () =>
  invalidRequest(
    'No response is stored for this API key. Send the whole conversation to POST /v1/responses, or ask the operator to set "state" of the plan.',
  );

/** All that a request enters of this folder which does not use the state. */
export const createStateEndpoints = ({ mode, generate, open }: Parts) => {
  let opened: Promise<State> | undefined;
  const state = (): Promise<State> => {
    opened ??= open?.();
    if (!opened) throw notStored();
    return opened;
  };
  /** What was stored can be read and deleted, also if the plan stores no more. */
  const read =
    (name: Exclude<keyof State, 'respond'>): Endpoint =>
    async (call) => {
      if (!open) throw notStored();
      try {
        return await (await state())[name](call);
      } catch (error) {
        const isMissing = error instanceof ApiError && error.status === 404;
        throw isMissing && modeOf(call, mode) === 'off' ? notStored() : error;
      }
    };
  const respond: Endpoint = (call) => {
    const asks = open && readAsks(call, mode);
    return asks ? state().then((loaded) => loaded.respond(call, asks)) : generate(call);
  };
  return {
    respond,
    getResponse: read('getResponse'),
    cancelResponse: read('cancelResponse'),
    deleteResponse: read('deleteResponse'),
    listInputItems: read('listInputItems'),
  };
};
