export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a reference into the same document (`#/$defs/Name`) points at. */
export const resolveRef = (ref: string, root: unknown): unknown =>
  ref
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((node, part) => (isRecord(node) ? node[part] : undefined), root);
