const BACKSLASH = 0x5c;

/** Index of the quote that closes a string whose content begins at `from`; the text's end if none does. */
export const endOfString = (text: string, from: number): number => {
  for (let quote = text.indexOf('"', from); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let start = quote;
    while (start > from && text.charCodeAt(start - 1) === BACKSLASH) start -= 1;
    // Escaped by an odd number of backslashes.
    if ((quote - start) % 2 === 0) return quote;
  }
  return text.length;
};
