import type { Turn } from '../api/conversation.ts';
import type { ApiFailure } from '../api/failure.ts';
import { FailureBox } from '../parts/blocks.tsx';
import { hrefOf } from '../parts/route.ts';

/** A turn of the conversation; of a response with the request that it came from. */
export type Shown = {
  turn: Turn;
  requestId?: string | undefined;
  failure?: ApiFailure;
  isRunning?: boolean;
};

const WHO = { user: 'You', assistant: 'Response', results: 'Result of the tool' };

const Said = ({ turn, requestId, failure, isRunning = false }: Shown) => (
  <li class="panel is-padded">
    <h2 class="quiet">{WHO[turn.role]}</h2>
    <p class="output" aria-busy={isRunning}>
      {turn.text}
    </p>
    {turn.role === 'user' && turn.images.length > 0 && (
      <p class="row">
        {turn.images.map((url) => (
          <img key={url} class="thumb" src={url} alt="Sent with the prompt" />
        ))}
      </p>
    )}
    {turn.role === 'assistant' &&
      turn.calls.map((call) => (
        <pre key={call.id} class="call">
          <code>
            {call.name}({call.arguments})
          </code>
        </pre>
      ))}
    {failure && <FailureBox failure={failure} />}
    {requestId && !isRunning && (
      <p class="hint">
        <a href={hrefOf('requests', { id: requestId })}>Open this request</a>{' '}
        <code>{requestId}</code>
      </p>
    )}
  </li>
);

export const Turns = ({ shown }: { shown: readonly Shown[] }) =>
  shown.length === 0 ? null : (
    <section class="section" aria-label="Conversation">
      <ol class="cards-list">
        {shown.map((one, index) => (
          // A turn has no name, and its place never changes.
          <Said key={`turn ${index}`} {...one} />
        ))}
      </ol>
    </section>
  );
