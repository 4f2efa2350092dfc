import { useState } from 'preact/hooks';
import type { Key, KeyUsage, Plan, Rotated } from '../api/types.ts';
import { Instant, Tick } from '../parts/blocks.tsx';
import { ConfirmDialog } from '../parts/confirm-dialog.tsx';
import { useShared } from '../parts/context.ts';
import { FormDialog, useForm } from '../parts/dialog.tsx';
import { Expiry, expiresAt } from '../parts/expiry.tsx';
import { Choices, optionsOf, SelectField, TextField } from '../parts/field.tsx';
import { count, localTime, plural } from '../parts/format.ts';
import { announce } from '../parts/notice.tsx';
import { type KeyRow, nameOf } from './keys-data.ts';
import { LimitFields, limitsIn, NO_LIMITS } from './limit-fields.tsx';

type Props = { project: string; onClose: () => void; onChanged: (row: KeyRow) => void };

export const PlanSummary = ({ plan }: { plan: Plan }) => (
  <>
    <p>
      {count(plan.rpm)} requests a minute, {count(plan.quota)} a {plan.period}
      {plan.concurrency !== undefined && `, ${count(plan.concurrency)} concurrently`}.
    </p>
    <p>Models: {plan.models ? plan.models.join(', ') : 'all'}.</p>
  </>
);

/** A new key has counts before its first request. */
const unusedCounts = ({ id, status }: Key, { id: plan, rpm, quota, period }: Plan): KeyUsage => ({
  ...{ id, status, plan, meter: '', used: 0, reserved: 0, remaining: quota },
  ...{ rpm, quota, period, used_this_minute: 0 },
});

export const usePlansOf = (project: string): Plan[] => {
  const { plans, projects } = useShared();
  const allowed = projects.find(({ id }) => id === project)?.plans;
  return allowed ? plans.filter(({ id }) => allowed.includes(id)) : plans;
};

export const MODELS_HINT = 'None ticked: the models of the plan.';

export const CreateKey = ({ project, onClose, onChanged }: Props) => {
  const { session, showSecret } = useShared();
  const plans = usePlansOf(project);
  const { values, bind } = useForm({
    ...{ name: '', plan: plans[0]?.id ?? '', expires_at: 'never' },
    ...NO_LIMITS,
  });
  const [isLimited, setLimited] = useState(false);
  const chosen = plans.find(({ id }) => id === values.plan);
  const create = async () => {
    const { name, plan, expires_at: expiry, ...limits } = values;
    const key = await session.api(
      'keys.create',
      { project },
      {
        plan,
        ...(name.trim() !== '' && { name }),
        ...expiresAt(expiry),
        ...limitsIn(limits, undefined),
      },
    );
    onClose();
    onChanged({ ...key, ...(chosen && { counts: unusedCounts(key, chosen) }) });
    showSecret(key);
    return undefined;
  };
  return (
    <FormDialog
      title="Create API key"
      action="Create key"
      busyAction="Creating…"
      onClose={onClose}
      onSubmit={create}
    >
      <TextField
        label="Name"
        maxLength={100}
        placeholder="checkout-service, prod"
        hint="Where the key is used."
        {...bind('name')}
      />
      <SelectField
        label="Plan"
        hint={chosen && <PlanSummary plan={chosen} />}
        options={plans.map(({ id }) => ({ value: id, label: id }))}
        {...bind('plan')}
      />
      <Expiry {...bind('expires_at')} />
      <details class="more-fields" onToggle={() => setLimited(true)}>
        <summary>Limits below those of the plan</summary>
        {isLimited && <LimitFields bind={bind} defaults={chosen ?? {}} modelsHint={MODELS_HINT} />}
      </details>
    </FormDialog>
  );
};

export type KeyProps = Props & { row: KeyRow };

const OVERLAPS = { none: 'Ends now', '1h': '1 hour', '24h': '24 hours', '7d': '7 days' };
type Overlap = keyof typeof OVERLAPS;

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
  const { values, bind } = useForm<{ overlap: Overlap; expires_at: string }>({
    overlap: '24h',
    expires_at: 'same',
  });
  const rotate = async () => {
    const { overlap, expires_at: expiry } = values;
    const body = { overlap, ...expiresAt(expiry) };
    const rotated = await session.api('keys.rotate', { project, key: row.id }, body);
    onClose();
    const { replaces, old_key_ended: _, overlap: __, ...successor } = rotated;
    const end = oldEnd(rotated, overlap);
    const status = overlap === 'none' && rotated.old_key_ended ? 'expired' : row.status;
    onChanged({ ...row, status, replaced_by: rotated.id, ...(end && { expires_at: end }) });
    onChanged({ ...successor, ...(row.counts && { counts: row.counts }) });
    announce(describeOldKey(rotated, overlap, end));
    showSecret(successor);
    return undefined;
  };
  return (
    <FormDialog
      title={`Rotate “${nameOf(row)}”`}
      action="Rotate"
      busyAction="Rotating…"
      onClose={onClose}
      onSubmit={rotate}
    >
      <p>The new key has the same plan and continues its counts.</p>
      <Choices legend="The old key works for" options={optionsOf(OVERLAPS)} {...bind('overlap')} />
      <Expiry isKept {...bind('expires_at')} />
    </FormDialog>
  );
};

export const RevokeKey = ({ project, row, onClose, onChanged }: KeyProps) => {
  const { session } = useShared();
  const name = nameOf(row);
  const { counts } = row;
  const [isLeaked, setLeaked] = useState(false);
  const revoke = async () => {
    const reason = isLeaked ? { reason: 'leaked' } : {};
    await session.api('keys.revoke', { project, key: row.id }, reason);
    onChanged({ ...row, status: 'revoked' });
    return `Revoked “${name}”. Requests with it get 401.`;
  };
  return (
    <ConfirmDialog
      title={`Revoke “${name}”?`}
      action="Revoke now"
      busyAction="Revoking…"
      name={name}
      onClose={onClose}
      onSubmit={revoke}
    >
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
      <Tick
        label="It leaked: the audit and the alert say so"
        checked={isLeaked}
        onChange={setLeaked}
      />
    </ConfirmDialog>
  );
};
