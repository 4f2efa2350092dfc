import { useEffect, useState } from 'preact/hooks';
import { type ApiFailure, asFailure } from './api/failure.ts';
import { localSession, type Session, userSession } from './api/session.ts';
import { finishSignIn, goToSignIn, hasSignedOut, returnAddress } from './api/sign-in.ts';
import type { SignIn } from './api/user-pool.ts';
import { MyUsagePage } from './pages/my-usage.tsx';
import { Button, FailureBox } from './parts/blocks.tsx';
import { Dialog } from './parts/dialog.tsx';
import { Logo } from './parts/icons.tsx';
import { hrefOf, useRoute } from './parts/route.ts';
import { settings } from './settings.ts';
import { Shell } from './shell.tsx';

type State = 'starting' | 'signed-out' | { session: Session } | { failure: ApiFailure };

const SignedOut = ({ signIn, failure }: { signIn: SignIn; failure: ApiFailure | undefined }) => (
  <main class="gate">
    <Logo />
    <h1>Model router</h1>
    <p class="quiet">Stage {settings.stage}</p>
    {failure && <FailureBox failure={failure} />}
    <Button look="is-primary" onClick={() => void goToSignIn(signIn)}>
      Sign in
    </Button>
    <a href={hrefOf('my-usage')}>See the usage of a key instead</a>
  </main>
);

const WithoutRole = ({ session: { person, signOut } }: { session: Session }) => (
  <main class="gate">
    <Logo />
    <h1>No project is yours yet</h1>
    <p>You are signed in as {person}. Ask an operator to add you to a project.</p>
    <Button onClick={signOut}>Sign out</Button>
    <a href={hrefOf('my-usage')}>See the usage of a key instead</a>
  </main>
);

/** Above every page and dialog, which keep what was typed. */
const SignedOutDialog = ({ onClose }: { onClose: () => void }) => (
  <Dialog title="You were signed out" onClose={onClose}>
    <p>Sign in again in a new tab. This page then continues with what you typed.</p>
    <div class="dialog-actions">
      <Button onClick={onClose}>Not now</Button>
      <a class="button is-primary" href={returnAddress()} target="_blank" rel="noreferrer">
        Sign in again
      </a>
    </div>
  </Dialog>
);

const TYPED = 'main textarea, main input:not([type="checkbox"], [type="radio"])';

/** Whether something would be lost with the page. */
const isTyped = (): boolean =>
  document.querySelector('dialog[open]') !== null ||
  [...document.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(TYPED)].some(
    ({ value }) => value !== '',
  );

/** The page of key holders needs no account. */
const ForKeyHolders = () => (
  <main class="gate-page">
    <MyUsagePage />
  </main>
);

/** Signs in where the stage has a user pool, then shows the pages. */
const WithSignIn = ({ signIn }: { signIn: SignIn }) => {
  const isForKeyHolders = useRoute().page === 'my-usage';
  const [state, setState] = useState<State>('starting');
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const onOver = (over: boolean, isExpired = false) => {
      if (over && isExpired && !isTyped()) void goToSignIn(signIn);
      else setOver(over);
    };
    const start = async () => {
      const tokens = await finishSignIn(signIn);
      if (tokens) {
        setState({ session: userSession({ signIn, tokens, onOver }) });
      } else if (hasSignedOut() || isForKeyHolders) setState('signed-out');
      else await goToSignIn(signIn);
    };
    start().catch((error) => setState({ failure: asFailure(error) }));
    // At the first page only: later ones find a session, or the gate.
  }, [signIn]);
  if (state === 'starting') return null;
  const session = state !== 'signed-out' && 'session' in state ? state.session : undefined;
  if (session && !session.isWithoutRole) {
    return (
      <>
        <Shell session={session} />
        {isOver && <SignedOutDialog onClose={() => setOver(false)} />}
      </>
    );
  }
  if (isForKeyHolders) return <ForKeyHolders />;
  if (session) return <WithoutRole session={session} />;
  const failure = state !== 'signed-out' && 'failure' in state ? state.failure : undefined;
  return <SignedOut signIn={signIn} failure={failure} />;
};

export const Start = () => {
  const [local] = useState(() => (settings.signIn ? undefined : localSession()));
  if (local) return <Shell session={local} />;
  return settings.signIn ? <WithSignIn signIn={settings.signIn} /> : null;
};
