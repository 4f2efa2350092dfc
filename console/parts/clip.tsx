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
