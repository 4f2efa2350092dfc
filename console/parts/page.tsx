import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

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
