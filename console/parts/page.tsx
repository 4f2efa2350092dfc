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

/** What a page is most used for. */
export const MainButton = (props: { onClick: () => void; children: ComponentChildren }) => (
  <button type="button" class="button is-primary" {...props} />
);
