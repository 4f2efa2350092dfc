import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';
import { moveFocus } from './move-focus.ts';

export type MenuItem = { label: string; isDangerous?: boolean; onChoose: () => void };

export const Menu = ({ label, items }: { label: string; items: readonly MenuItem[] }) => {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  // Before the next key is pressed.
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    list.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
    const onPointer = ({ target }: PointerEvent) => {
      if (target instanceof Node && !list.current?.parentElement?.contains(target)) setOpen(false);
    };
    document.addEventListener('pointerdown', onPointer);
    return () => document.removeEventListener('pointerdown', onPointer);
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') close();
    else if (event.key === 'Tab') setOpen(false);
    else if (list.current && moveFocus(list.current, '[role=menuitem]', event.key)) {
      event.preventDefault();
    }
  };
  return (
    <div class="menu">
      <button
        ref={button}
        type="button"
        class="button is-icon"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="more" />
      </button>
      {isOpen && (
        <div ref={list} id={id} role="menu" aria-label={label} tabIndex={-1} onKeyDown={onKeyDown}>
          {items.map(({ label: text, isDangerous, onChoose }) => (
            <button
              key={text}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={isDangerous ? 'is-danger' : ''}
              onClick={() => {
                close();
                onChoose();
              }}
            >
              {text}
            </button>
          ))}
        </div>
      )}
    </div>
  );
};
