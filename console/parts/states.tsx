import type { ComponentChildren } from 'preact';
import type { ApiFailure } from '../api/failure.ts';
import { Button } from './button.tsx';
import { localClock } from './format.ts';
import { Icon, type IconName } from './icons.tsx';
import type { Loaded } from './load.ts';

type FailureProps = {
  failure: ApiFailure;
  onRetry?: () => void;
  /** When the rows below were loaded; 0: there are none. */
  since?: number;
};

/** Why a panel has no fresh data, with the id to ask about. */
export const FailureBox = ({ failure, onRetry, since }: FailureProps) => (
  <div class="failure" role="alert">
    <Icon name="alert" />
    <div>
      <p>{failure.message}</p>
      {since ? <p class="quiet">Shown below: the state of {localClock(since)}.</p> : null}
      {failure.requestId && <p class="mono quiet">{failure.requestId}</p>}
    </div>
    {onRetry && <Button onClick={onRetry}>Try again</Button>}
  </div>
);

type EmptyProps = { icon: IconName; title: string; children?: ComponentChildren };

/** What a thing is, and the first step. */
export const Empty = ({ icon, title, children }: EmptyProps) => (
  <div class="empty">
    <Icon name={icon} />
    <h2>{title}</h2>
    {children}
  </div>
);

const Skeleton = () => (
  <div class="skeleton" role="status">
    <span class="sr-only">Loading</span>
    <i />
    <i />
    <i />
  </div>
);

type ShownProps<T> = { of: Loaded<T>; children: (value: T) => ComponentChildren };

/** A panel in each of its states; its children see only a value. */
export const Shown = <T,>({ of, children }: ShownProps<T>) => (
  <>
    {of.failure && <FailureBox failure={of.failure} onRetry={of.reload} since={of.loadedAt} />}
    {of.value !== undefined && children(of.value)}
    {of.value === undefined && !of.failure && <Skeleton />}
  </>
);
