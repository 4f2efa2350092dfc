import { type ComponentChildren, Fragment } from 'preact';

/** What is known of a thing, by its title; without a value a title is left out. */
export const Facts = ({ of }: { of: Record<string, ComponentChildren> }) => (
  <dl class="facts">
    {Object.entries(of).map(([title, value]) =>
      value === undefined || value === null || value === false ? null : (
        <Fragment key={title}>
          <dt>{title}</dt>
          <dd>{value}</dd>
        </Fragment>
      ),
    )}
  </dl>
);
