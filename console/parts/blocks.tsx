import type { ComponentChildren, ComponentProps } from 'preact';
import { useEffect } from 'preact/hooks';
import type { ApiFailure } from '../api/failure.ts';
import type { OfRecent } from '../api/types.ts';
import { localClock, localTime, plural, relativeTime, utcTime } from './format.ts';
import { Icon, type IconName } from './icons.tsx';
import type { Loaded } from './load.ts';

type ButtonProps = Omit<ComponentProps<'button'>, 'class' | 'size'> & { look?: string };

export const Button = ({ look = '', ...props }: ButtonProps) => (
  <button type="button" class={`button ${look}`.trim()} {...props} />
);

type TickProps = { label: string; checked: boolean; onChange: (isTicked: boolean) => void };

export const Tick = ({ label, checked, onChange }: TickProps) => (
  <label class="tick">
    <input
      type="checkbox"
      checked={checked}
      onChange={({ currentTarget }) => onChange(currentTarget.checked)}
    />
    <span>{label}</span>
  </label>
);

type ClipProps = {
  text: string;
  /** The whole of a shortened text. @default the text */
  title?: string | undefined;
  href?: string;
  look?: string;
};

/** A text in one line, the whole of which is in its tooltip. */
export const Clip = ({ text, title = text, href, look = '' }: ClipProps) => {
  const attributes = { class: `clip ${look}`.trim(), title, children: text };
  return href === undefined ? <span {...attributes} /> : <a {...attributes} href={href} />;
};

/** An instant: its distance, or the local time; the tooltip has both zones. */
export const Instant = ({ at, isRelative = false }: { at: string; isRelative?: boolean }) => (
  <time dateTime={at} title={`${localTime(at)} · ${utcTime(at)}`}>
    {isRelative ? relativeTime(at, Date.now()) : localTime(at)}
  </time>
);

/** What figures are of: the last requests, or all of the day. */
export const Basis = ({ of }: { of: OfRecent }) => (
  <>
    Of {of.is_all ? 'all' : 'the last'} {plural(of.of_requests, 'request')}, since{' '}
    <Instant at={of.since} />.
  </>
);

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

type PageProps = {
  title: string;
  subtitle?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
};

export const Page = ({ title, subtitle, actions, children }: PageProps) => {
  useEffect(() => {
    document.title = `${title} · Model router`;
  }, [title]);
  return (
    <>
      <header class="page-head">
        <div>
          <h1>{title}</h1>
          {subtitle && <p class="quiet">{subtitle}</p>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </>
  );
};

export const Section = (props: { title: ComponentChildren; children: ComponentChildren }) => (
  <section class="section">
    <h2>{props.title}</h2>
    {props.children}
  </section>
);
