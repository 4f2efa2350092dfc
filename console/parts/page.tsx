import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

type PageProps = {
  title: string;
  subtitle?: ComponentChildren;
  /** Buttons at the right of the title. */
  actions?: ComponentChildren;
  children: ComponentChildren;
};

/** The frame of a page: one h1, what it shows, what can be done. */
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

/** A part of a page below its title. */
export const Section = (props: { title: ComponentChildren; children: ComponentChildren }) => (
  <section class="section">
    <h2>{props.title}</h2>
    {props.children}
  </section>
);
