import { settings } from '../settings.ts';
import { type Api, createApi } from './client.ts';
import { claimsOf, goToSignIn, refresh, signOut, type Tokens } from './sign-in.ts';

export type Session = {
  api: Api;
  /** How the page names the signed-in person; undefined on the loopback address. */
  person: string | undefined;
  isOperator: boolean;
  /** Whether the role may change keys of a project; the server checks each call again. */
  mayChange: (project: string) => boolean;
  /** No group of the pool: no call will succeed. */
  isWithoutRole: boolean;
  signOut: (() => void) | undefined;
  signInAgain: () => void;
};

/** The loopback address needs no sign-in: the token of the page identifies it. */
export const localSession = (): Session => ({
  api: createApi({
    headers: async () => ({ 'x-console-token': settings.token ?? '' }),
    onSignedOut: () => {},
  }),
  person: undefined,
  isOperator: true,
  mayChange: () => true,
  isWithoutRole: false,
  signOut: undefined,
  signInAgain: () => location.reload(),
});

/** The ID token is replaced this long before it ends. */
const MARGIN_MS = 60_000;

type UserOptions = {
  signIn: NonNullable<typeof settings.signIn>;
  tokens: Tokens;
  /** Runs when the sign-in is over; what was typed stays in the page. */
  onSignedOut: () => void;
};

export const userSession = ({ signIn, tokens: first, onSignedOut }: UserOptions): Session => {
  let tokens = first;
  let renewal: Promise<Tokens> | undefined;
  const renew = async (): Promise<void> => {
    renewal ??= refresh(signIn, tokens);
    try {
      tokens = await renewal;
    } catch (error) {
      onSignedOut();
      throw error;
    } finally {
      renewal = undefined;
    }
  };
  const headers = async () => {
    if (Date.now() > tokens.expiresAt - MARGIN_MS) await renew();
    return { authorization: tokens.idToken };
  };
  const { email, sub, 'cognito:groups': groups = [] } = claimsOf(first);
  const isOperator = groups.includes('operator');
  return {
    api: createApi({ headers, onSignedOut }),
    person: email ?? sub,
    isOperator,
    mayChange: (project) => isOperator || groups.includes(`project:${project}`),
    isWithoutRole: !groups.some((group) => /^(?:operator$|viewer$|project:)/.test(group)),
    signOut: () => signOut(signIn),
    signInAgain: () => void goToSignIn(signIn),
  };
};
