import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';

type Tab = { title: string; content: ComponentChildren };

/** Panels of which one is in sight; arrow keys choose. */
export const Tabs = ({ label, tabs }: { label: string; tabs: readonly Tab[] }) => {
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
