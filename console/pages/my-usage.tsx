import { useState } from 'preact/hooks';
import { usageOf } from '../api/caller.ts';
import type { ApiFailure } from '../api/failure.ts';
import { Field } from '../parts/field.tsx';
import { useLatest } from '../parts/latest.ts';
import { Meter } from '../parts/meter.tsx';
import { Page } from '../parts/page.tsx';
import { FailureBox } from '../parts/states.tsx';
import { Instant } from '../parts/time.tsx';

type Usage = Awaited<ReturnType<typeof usageOf>>;

const Shown = ({ usage }: { usage: Usage }) => (
  <div class="panel is-padded section">
    <dl class="facts">
      <dt>Key</dt>
      <dd class="mono">{usage.key_id}</dd>
      <dt>Plan</dt>
      <dd>{usage.plan.id}</dd>
      <dt>This {usage.plan.period}</dt>
      <dd>
        <Meter used={usage.period.used} limit={usage.period.limit} />
        <span class="quiet">
          resets <Instant at={usage.period.resets_at} />
        </span>
      </dd>
      <dt>This minute</dt>
      <dd>
        <Meter used={usage.minute.used} limit={usage.minute.limit} />
      </dd>
      <dt>In flight</dt>
      <dd>{usage.period.reserved ?? 0}</dd>
      <dt>Last used</dt>
      <dd>{usage.last_used_at ? <Instant at={usage.last_used_at} isRelative /> : 'never'}</dd>
    </dl>
  </div>
);

/** What a key has used, for its holder: no account, and the key stays in the memory of the page. */
export const MyUsagePage = () => {
  const [key, setKey] = useState('');
  const [shown, setShown] = useState<{ usage?: Usage; failure?: ApiFailure }>({});
  const { follow } = useLatest();
  const show = (event: Event) => {
    event.preventDefault();
    follow(
      usageOf(key.trim()),
      (usage) => setShown({ usage }),
      (failure) => setShown({ failure }),
    );
  };
  return (
    <Page title="My usage" subtitle="Paste a key to see what it has used.">
      <form class="panel is-padded" onSubmit={show} autoComplete="off">
        <Field
          label="API key"
          hint="The key stays in this page: it is not stored and not in the address."
        >
          {(attributes) => (
            <div class="row">
              <input
                {...attributes}
                type="password"
                autoComplete="off"
                placeholder="mrk_live_…"
                value={key}
                onInput={({ currentTarget }) => setKey(currentTarget.value)}
              />
              <button type="submit" class="button is-primary fixed" disabled={key.trim() === ''}>
                Show usage
              </button>
            </div>
          )}
        </Field>
      </form>
      <div class="section">{shown.failure && <FailureBox failure={shown.failure} />}</div>
      {shown.usage && <Shown usage={shown.usage} />}
    </Page>
  );
};
