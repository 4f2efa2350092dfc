import { settings } from '../settings.ts';
import { type Api, createApi } from './client.ts';

export type Session = {
  api: Api;
  /** How the page names the signed-in person; undefined on the loopback address. */
  person: string | undefined;
  /** What the role allows; the server checks each call again. */
  mayChange: boolean;
  isOperator: boolean;
};

/** The loopback address needs no sign-in: the token of the page identifies it. */
export const localSession = (): Session => ({
  api: createApi({
    headers: async () => ({ 'x-console-token': settings.token ?? '' }),
    onSignedOut: () => {},
  }),
  person: undefined,
  mayChange: true,
  isOperator: true,
});
