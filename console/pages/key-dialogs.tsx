import { useState } from 'preact/hooks';
import type { Key, KeyUsage, NewKey, Plan } from '../api/types.ts';
import { useShared } from '../parts/context.ts';
import { FormDialog } from '../parts/dialog.tsx';
import { Expiry, expiresAt } from '../parts/expiry.tsx';
import { Choices, Field } from '../parts/field.tsx';
import { count, localTime, plural } from '../parts/format.ts';
import { announce } from '../parts/notice.tsx';
import { Instant } from '../parts/time.tsx';
import { type KeyRow, pathOf } from './keys-data.ts';

type Props = { project: string; onClose: () => void; onChanged: (row: KeyRow) => void };

export const nameOf = ({ name, id }: Pick<Key, 'name' | 'id'>): string => name ?? id;

/** What a plan allows, in one line. */
export const PlanSummary = ({ plan }: { plan: Plan }) => (
  <>
    <p>
      {count(plan.rpm)} requests a minute, {count(plan.quota)} a {plan.period}
      {plan.concurrency !== undefined && `, ${count(plan.concurrency)} at a time`}.
    </p>
    <p>Models: {plan.models ? plan.models.join(', ') : 'all'}.</p>
  </>
);

/** A new key has counts before its first request. */
const unusedCounts = ({ id, status }: Key, { id: plan, rpm, quota, period }: Plan): KeyUsage => ({
  ...{ id, status, plan, meter: '', used: 0, reserved: 0, remaining: quota },
  ...{ rpm, quota, period, used_this_minute: 0 },
});

export const CreateKey = ({ project, onClose, onChanged }: Props) => {
  const { session, plans, showSecret } = useShared();
  const [name, setName] = useState('');
  const [plan, setPlan] = useState(plans[0]?.id ?? '');
  const [expiry, setExpiry] = useState('never');
  const chosen = plans.find(({ id }) => id === plan);
  const create = async () => {
    const key = await session.api.post<NewKey>(pathOf(project), {
      plan,
      ...(name.trim() !== '' && { name }),
      ...expiresAt(expiry),
    });
    onClose();
    onChanged({ ...key, ...(chosen && { counts: unusedCounts(key, chosen) }) });
    showSecret(key);
  };
  return (
    <FormDialog
      title="Create API key"
      action="Create key"
      busyAction="Creating…"
      onClose={onClose}
      onSubmit={create}
    >
      {(failure) => (
        <>
          <Field label="Name" param="name" failure={failure} hint="Where the key is used.">
            {(attributes) => (
              <input
                {...attributes}
                type="text"
                maxLength={100}
                placeholder="checkout-service, prod"
                value={name}
                onInput={({ currentTarget }) => setName(currentTarget.value)}
              />
            )}
          </Field>
          <Field
            label="Plan"
            param="plan"
            failure={failure}
            hint={chosen && <PlanSummary plan={chosen} />}
          >
            {(attributes) => (
              <select
                {...attributes}
                value={plan}
                onChange={({ currentTarget }) => setPlan(currentTarget.value)}
              >
                {plans.map(({ id }) => (
                  <option key={id} value={id}>
                    {id}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Expiry value={expiry} failure={failure} onChange={setExpiry} />
        </>
      )}
    </FormDialog>
  );
};

export type KeyProps = Props & { row: KeyRow };

const OVERLAPS = [
  { value: 'none', label: 'Ends now' },
  { value: '1h', label: '1 hour' },
  { value: '24h', label: '24 hours' },
  { value: '7d', label: '7 days' },
] as const;
type Overlap = (typeof OVERLAPS)[number]['value'];

/** The response of a rotation. */
type Rotated = NewKey & { replaces: string; overlap: string; old_key_ended: boolean };

const HOURS: Record<Overlap, number> = { none: 0, '1h': 1, '24h': 24, '7d': 168 };
const HOUR_MS = 3_600_000;

/** When the old key ends; undefined if the tables failed before that was stored. */
const oldEnd = ({ old_key_ended: isSet, expires_at: end }: Rotated, overlap: Overlap) =>
  isSet ? new Date(Date.now() + HOURS[overlap] * HOUR_MS).toISOString() : end;

const describeOldKey = ({ old_key_ended: isSet }: Rotated, overlap: Overlap, end = ''): string => {
  if (!isSet) return 'The tables failed: the old key may outlive its overlap. Revoke it.';
  return overlap === 'none'
    ? 'The old key has ended.'
    : `The old key works until ${localTime(end)}.`;
};

export const RotateKey = ({ project, row, onClose, onChanged }: KeyProps) => {
  const { session, showSecret } = useShared();
  const [overlap, setOverlap] = useState<Overlap>('24h');
  const [expiry, setExpiry] = useState('same');
  const rotate = async () => {
    const rotated = await session.api.post<Rotated>(pathOf(project, row.id, 'rotate'), {
      overlap,
      ...expiresAt(expiry),
    });
    onClose();
    const { replaces, old_key_ended: _, overlap: __, ...successor } = rotated;
    const end = oldEnd(rotated, overlap);
    const status = overlap === 'none' && rotated.old_key_ended ? 'expired' : row.status;
    onChanged({ ...row, status, replaced_by: rotated.id, ...(end && { expires_at: end }) });
    onChanged({ ...successor, ...(row.counts && { counts: row.counts }) });
    announce(describeOldKey(rotated, overlap, end));
    showSecret(successor);
  };
  return (
    <FormDialog
      title={`Rotate “${nameOf(row)}”`}
      action="Rotate"
      busyAction="Rotating…"
      onClose={onClose}
      onSubmit={rotate}
    >
      {(failure) => (
        <>
          <p>The new key has the same plan and continues its counts.</p>
          <Choices
            legend="The old key works for"
            value={overlap}
            options={OVERLAPS}
            onChange={setOverlap}
          />
          <Expiry value={expiry} failure={failure} onChange={setExpiry} isKept />
        </>
      )}
    </FormDialog>
  );
};

export const RevokeKey = ({ project, row, onClose, onChanged }: KeyProps) => {
  const { session } = useShared();
  const [typed, setTyped] = useState('');
  const name = nameOf(row);
  const { counts } = row;
  const revoke = async () => {
    await session.api.post(pathOf(project, row.id, 'revoke'));
    onClose();
    onChanged({ ...row, status: 'revoked' });
    announce(`Revoked “${name}”. Requests with it get 401.`);
  };
  return (
    <FormDialog
      title={`Revoke “${name}”?`}
      action="Revoke now"
      busyAction="Revoking…"
      isDangerous
      isReady={typed.trim() === name}
      onClose={onClose}
      onSubmit={revoke}
    >
      {() => (
        <>
          <p>
            Requests with this key are rejected from now on, everywhere. A revoked key cannot be
            restored.
          </p>
          {counts?.last_used_at ? (
            <p class="callout">
              Last used <Instant at={counts.last_used_at} isRelative />,{' '}
              {plural(counts.used ?? 0, 'request')} this {counts.period}.
            </p>
          ) : (
            <p class="callout">Never used.</p>
          )}
          <Field label={`Type ${name} to confirm`}>
            {(attributes) => (
              <input
                {...attributes}
                type="text"
                autoComplete="off"
                spellcheck={false}
                value={typed}
                onInput={({ currentTarget }) => setTyped(currentTarget.value)}
              />
            )}
          </Field>
        </>
      )}
    </FormDialog>
  );
};
