import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { IN_CONSOLE, textOf } from '../../lambdas/clients.ts';
import type { CallerModel } from '../api/caller.ts';
import { callerUrl } from '../settings.ts';
import { Copyable } from './copy.tsx';

type Tab = { title: string; content: ComponentChildren };

/** Panels of which one is in sight; arrow keys choose. */
const Tabs = ({ label, tabs }: { label: string; tabs: readonly Tab[] }) => {
  const base = useId();
  const [chosen, setChosen] = useState(0);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = (chosen + step + tabs.length) % tabs.length;
    setChosen(next);
    document.getElementById(`${base}-tab-${next}`)?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map(({ title }, index) => (
          <button
            key={title}
            id={`${base}-tab-${index}`}
            type="button"
            role="tab"
            aria-selected={index === chosen}
            aria-controls={`${base}-panel`}
            tabIndex={index === chosen ? 0 : -1}
            onClick={() => setChosen(index)}
          >
            {title}
          </button>
        ))}
      </div>
      <div id={`${base}-panel`} role="tabpanel" aria-labelledby={`${base}-tab-${chosen}`}>
        {tabs[chosen]?.content}
      </div>
    </div>
  );
};

type SnippetsProps = { label: string; model: CallerModel; prompt?: string };

/** Code that asks a model, for each client; it reads the key from an environment variable. */
export const Snippets = ({ label, model, ...prompt }: SnippetsProps) => {
  const { id, context_length: context, max_output_tokens: output } = model;
  const connection = { url: callerUrl, model: id, context, output, ...prompt };
  const tabs = Object.entries(IN_CONSOLE).map(([title, client]) => {
    const code = textOf(client(connection));
    return {
      title,
      content: <Copyable key={title} text={code} label={`the code for ${title}`} isBlock />,
    };
  });
  return <Tabs label={label} tabs={tabs} />;
};
