import { useEffect, useState } from 'preact/hooks';
import { type ApiFailure, asFailure } from './api/failure.ts';
import { localSession, type Session, userSession } from './api/session.ts';
import { finishSignIn, goToSignIn, hasSignedOut } from './api/sign-in.ts';
import { MyUsagePage } from './pages/my-usage.tsx';
import { Logo } from './parts/icons.tsx';
import { hrefOf, useRoute } from './parts/route.ts';
import { FailureBox } from './parts/states.tsx';
import { settings } from './settings.ts';
import { Shell } from './shell.tsx';

type State = 'starting' | 'signed-out' | { session: Session } | { failure: ApiFailure };
type SignIn = NonNullable<typeof settings.signIn>;

const SignedOut = ({ signIn, failure }: { signIn: SignIn; failure: ApiFailure | undefined }) => (
  <main class="gate">
    <Logo />
    <h1>Model router</h1>
    <p class="quiet">Stage {settings.stage}</p>
    {failure && <FailureBox failure={failure} />}
    <button type="button" class="button is-primary" onClick={() => void goToSignIn(signIn)}>
      Sign in
    </button>
    <a href={hrefOf('my-usage')}>See the usage of a key instead</a>
  </main>
);

const SignedOutBar = ({ session }: { session: Session }) => (
  <div class="bar" role="alert">
    You were signed out. What you typed is still here; it is lost when you sign in again.
    <button type="button" class="button is-small" onClick={session.signInAgain}>
      Sign in again
    </button>
  </div>
);

/** Signs in where the stage has a user pool, then shows the pages. */
const WithSignIn = ({ signIn }: { signIn: SignIn }) => {
  const [state, setState] = useState<State>('starting');
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const start = async () => {
      const tokens = await finishSignIn(signIn);
      if (tokens) {
        setState({ session: userSession({ signIn, tokens, onSignedOut: () => setOver(true) }) });
      } else if (hasSignedOut()) setState('signed-out');
      else await goToSignIn(signIn);
    };
    start().catch((error) => setState({ failure: asFailure(error) }));
  }, [signIn]);
  if (state === 'starting') return null;
  if (state !== 'signed-out' && 'session' in state) {
    return (
      <>
        {isOver && <SignedOutBar session={state.session} />}
        <Shell session={state.session} />
      </>
    );
  }
  return <SignedOut signIn={signIn} failure={state === 'signed-out' ? undefined : state.failure} />;
};

/** The page of key holders needs no account; every other page needs a session. */
export const Start = () => {
  const { page } = useRoute();
  const [local] = useState(() => (settings.signIn ? undefined : localSession()));
  if (local) return <Shell session={local} />;
  if (page === 'my-usage') {
    return (
      <main class="gate-page">
        <MyUsagePage />
      </main>
    );
  }
  return settings.signIn ? <WithSignIn signIn={settings.signIn} /> : null;
};
