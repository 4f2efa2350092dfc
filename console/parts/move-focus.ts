/** Moves the focus among the items of a list: arrows, Home and End. False for any other key. */
export const moveFocus = (list: HTMLElement, selector: string, key: string): boolean => {
  const items = [...list.querySelectorAll<HTMLElement>(selector)];
  const { activeElement } = document;
  const index = activeElement instanceof HTMLElement ? items.indexOf(activeElement) : -1;
  const next = {
    ArrowDown: (index + 1) % items.length,
    ArrowUp: (index - 1 + items.length) % items.length,
    Home: 0,
    End: items.length - 1,
  }[key];
  if (next === undefined) return false;
  items[next]?.focus();
  return true;
};
