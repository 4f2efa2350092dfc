import { settings } from '../settings.ts';
import { type Api, createApi } from './client.ts';
import { ApiFailure } from './failure.ts';
import { goToSignOut, openChannel } from './sign-in.ts';
import { claimsOf, refreshTokens, revokeTokens, type SignIn, type Tokens } from './user-pool.ts';

export type Session = {
  api: Api;
  /** How the page names the signed-in person; undefined on the loopback address. */
  person: string | undefined;
  isOperator: boolean;
  /** An operator or a viewer; members see their projects. */
  seesAll: boolean;
  /** Whether the role may change keys of a project; the server checks each call again. */
  mayChange: (project: string) => boolean;
  /** No group of the pool: no call will succeed. */
  isWithoutRole: boolean;
  signOut: (() => void) | undefined;
};

/** The loopback address needs no sign-in: the token of the page identifies it. */
export const localSession = (): Session => ({
  api: createApi({
    headers: async () => ({ 'x-console-token': settings.token ?? '' }),
    onSignedOut: () => {},
  }),
  person: undefined,
  isOperator: true,
  seesAll: true,
  mayChange: () => true,
  isWithoutRole: false,
  signOut: undefined,
});

/** The ID token is replaced this long before it ends. */
const MARGIN_MS = 60_000;

type UserOptions = {
  signIn: SignIn;
  tokens: Tokens;
  /** Runs when the sign-in is over, by its time or by another tab, and when another tab has signed in the same user again. */
  onOver: (isOver: boolean, isExpired?: boolean) => void;
};

/** What authorizes the calls of a user: an ID token that is renewed until the sign-in is over. */
const createCredentials = ({ signIn, tokens: first, onOver }: UserOptions) => {
  let tokens = first;
  let isOver = false;
  let renewal: Promise<Tokens> | undefined;
  const signedInAt = Date.now();
  const end = () => {
    isOver = true;
    // A call that is rejected right after a sign-in would be again.
    onOver(true, Date.now() - signedInAt > MARGIN_MS);
  };
  const tell = openChannel((message) => {
    if (message === 'signed out') {
      isOver = true;
      onOver(true);
      void revokeTokens(signIn, tokens);
    } else if (isOver && claimsOf(message.signedIn).sub === claimsOf(first).sub) {
      tokens = message.signedIn;
      isOver = false;
      onOver(false);
    }
  });
  tell({ signedIn: first });

  const renew = async (): Promise<void> => {
    renewal ??= refreshTokens(signIn, tokens);
    try {
      tokens = await renewal;
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 401) end();
      throw error;
    } finally {
      renewal = undefined;
    }
  };

  return {
    end,
    headers: async () => {
      if (isOver) {
        end();
        throw new ApiFailure('You were signed out.', { status: 401 });
      }
      if (Date.now() > tokens.expiresAt - MARGIN_MS) await renew();
      return { authorization: tokens.idToken };
    },
    signOut: () => {
      tell('signed out');
      void revokeTokens(signIn, tokens);
      goToSignOut(signIn);
    },
  };
};

export const userSession = (options: UserOptions): Session => {
  const { headers, end, signOut } = createCredentials(options);
  const { email, sub, 'cognito:groups': groups = [] } = claimsOf(options.tokens);
  const isOperator = groups.includes('operator');
  return {
    api: createApi({ headers, onSignedOut: end }),
    person: email ?? sub,
    isOperator,
    seesAll: isOperator || groups.includes('viewer'),
    mayChange: (project) => isOperator || groups.includes(`project:${project}`),
    isWithoutRole: !groups.some((group) => /^(?:operator$|viewer$|project:)/.test(group)),
    signOut,
  };
};
