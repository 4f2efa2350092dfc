import { pageBase } from '../settings.ts';
import { ApiFailure } from './failure.ts';
import {
  type Attempt,
  authorizeUrl,
  logoutUrl,
  newAttempt,
  redeemCode,
  type SignIn,
  type Tokens,
} from './user-pool.ts';

/*
 * The page's part of a sign-in. Tokens are in memory only; a reload asks the pool again, whose cookie answers
 * without a form. What the redirect needs is in the tab's storage, and removed on return.
 */
const STORED = 'sign-in';
const SIGNED_OUT = 'signed-out';

type Pending = Attempt & { hash: string };

export const returnAddress = (): string => new URL('dashboard', pageBase).href;

/** Leaves the page for the sign-in; it returns to the same hash. */
export const goToSignIn = async (signIn: SignIn): Promise<void> => {
  const pending: Pending = { ...newAttempt(), hash: location.hash };
  const url = await authorizeUrl(signIn, pending, returnAddress());
  // Together: a second click replaces both, and the return finds what it was sent with.
  sessionStorage.setItem(STORED, JSON.stringify(pending));
  sessionStorage.removeItem(SIGNED_OUT);
  location.assign(url);
};

/** Leaves the page for the end of the pool's session; on return the page offers a sign-in. */
export const goToSignOut = (signIn: SignIn): void => {
  sessionStorage.setItem(SIGNED_OUT, 'yes');
  location.assign(logoutUrl(signIn, returnAddress()));
};

export const hasSignedOut = (): boolean => sessionStorage.getItem(SIGNED_OUT) !== null;

/** What the sign-in brought back in the address, which is cleaned. */
const takeReturn = (): { query: URLSearchParams; pending: Pending | undefined } => {
  const query = new URLSearchParams(location.search);
  const stored = sessionStorage.getItem(STORED);
  sessionStorage.removeItem(STORED);
  const pending: Pending | undefined = stored === null ? undefined : JSON.parse(stored);
  if (location.search !== '') {
    history.replaceState(null, '', `${returnAddress()}${pending?.hash ?? ''}`);
  }
  return { query, pending };
};

/**
 * Tokens of a user who returns from the sign-in; undefined for any other visit.
 * @throws ApiFailure if the sign-in failed, or another page started it
 */
export const finishSignIn = async (signIn: SignIn): Promise<Tokens | undefined> => {
  const { query, pending } = takeReturn();
  const error = query.get('error_description') ?? query.get('error');
  if (error) throw new ApiFailure(`The sign-in failed: ${error}.`);
  const code = query.get('code');
  if (code === null) return undefined;
  if (!pending || query.get('state') !== pending.state) {
    throw new ApiFailure('The sign-in was not started in this tab. Sign in again.');
  }
  const { verifier } = pending;
  return redeemCode(signIn, { code, verifier, returnTo: returnAddress() });
};

/** What tabs of the console tell each other; it passes through memory only, and to this origin only. */
export type TabMessage = { signedIn: Tokens } | 'signed out';

/** Sends to the other tabs, and receives from them. */
export const openChannel = (onMessage: (message: TabMessage) => void) => {
  const channel = new BroadcastChannel('sign-in');
  channel.onmessage = ({ data }: MessageEvent<TabMessage>) => onMessage(data);
  return (message: TabMessage): void => channel.postMessage(message);
};
