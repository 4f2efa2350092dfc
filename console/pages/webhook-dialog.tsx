import { useState } from 'preact/hooks';
import { ApiFailure } from '../api/failure.ts';
import type { Webhook } from '../api/types.ts';
import { Instant, Shown } from '../parts/blocks.tsx';
import { useShared } from '../parts/context.ts';
import { Dialog, FormDialog, useForm } from '../parts/dialog.tsx';
import { TextField } from '../parts/field.tsx';
import { useLoad } from '../parts/load.ts';
import { SecretDialog } from '../parts/secret-dialog.tsx';

type WebhookProps = { row: { id: string }; onClose: () => void };
type FormProps = { project: string; stored: Webhook | null; onClose: () => void };

const WebhookForm = ({ project, stored, onClose }: FormProps) => {
  const { session } = useShared();
  const [secret, setSecret] = useState<string>();
  const { values, bind } = useForm({ url: stored?.url ?? '' });
  const save = async () => {
    if (values.url.trim() === '') {
      if (stored) await session.api('webhooks.delete', { project }, {});
      return 'There is no webhook.';
    }
    setSecret((await session.api('webhooks.set', { project }, values)).secret);
    return undefined;
  };
  if (secret) {
    return (
      <SecretDialog
        title="Save this secret now"
        label="the signing secret"
        text={secret}
        about="It is shown once, and signs each event by the rules of standard-webhooks. The one before signs as well for 24 hours."
        onDone={onClose}
      />
    );
  }
  return (
    <FormDialog
      title={`Webhook of “${project}”`}
      action={stored ? 'Save with a new secret' : 'Save'}
      onClose={onClose}
      onSubmit={save}
    >
      <TextField
        label="Address"
        maxLength={2_000}
        placeholder="https://example.com/hooks"
        hint="Gets response.completed, failed, cancelled or incomplete of each background response. Empty: none."
        {...bind('url')}
      />
      {stored && (
        <p class="quiet">
          Set <Instant at={stored.set_at} />
        </p>
      )}
    </FormDialog>
  );
};

/** Where the ends of a project's background responses are sent. */
export const WebhookDialog = ({ row: { id: project }, onClose }: WebhookProps) => {
  const { session } = useShared();
  const stored = useLoad(project, () =>
    session.api('webhooks.show', { project }).catch((error: unknown) => {
      if (error instanceof ApiFailure && error.status === 404) return null;
      throw error;
    }),
  );
  if (stored.value !== undefined) {
    return <WebhookForm project={project} stored={stored.value} onClose={onClose} />;
  }
  return (
    <Dialog title={`Webhook of “${project}”`} onClose={onClose}>
      <Shown of={stored}>{() => null}</Shown>
    </Dialog>
  );
};
