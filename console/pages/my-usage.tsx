import { useState } from 'preact/hooks';
import { usageOf } from '../api/caller.ts';
import type { ApiFailure } from '../api/failure.ts';
import { Button, FailureBox, Instant, Page } from '../parts/blocks.tsx';
import { Facts } from '../parts/facts.tsx';
import { Field, KeyInput } from '../parts/field.tsx';
import { useLatest } from '../parts/latest.ts';
import { Meter } from '../parts/meter.tsx';

type Usage = Awaited<ReturnType<typeof usageOf>>;

const Shown = ({ usage }: { usage: Usage }) => (
  <div class="panel is-padded section">
    <Facts
      of={{
        Key: <span class="mono">{usage.key_id}</span>,
        Plan: usage.plan.id,
        [`This ${usage.plan.period}`]: (
          <>
            <Meter used={usage.period.used} limit={usage.period.limit} />
            <span class="quiet">
              resets <Instant at={usage.period.resets_at} />
            </span>
          </>
        ),
        'This minute': <Meter used={usage.minute.used} limit={usage.minute.limit} />,
        'In flight': usage.period.reserved ?? 0,
        'Last used': usage.last_used_at ? <Instant at={usage.last_used_at} isRelative /> : 'never',
      }}
    />
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
              <KeyInput {...attributes} value={key} onChange={setKey} />
              <Button type="submit" look="is-primary fixed" disabled={key.trim() === ''}>
                Show usage
              </Button>
            </div>
          )}
        </Field>
      </form>
      <div class="section">{shown.failure && <FailureBox failure={shown.failure} />}</div>
      {shown.usage && <Shown usage={shown.usage} />}
    </Page>
  );
};
