/** The bytes of all parts; a single part, as most bodies have, is not copied. */
export const joinBytes = (parts: Buffer[]): Buffer => {
  const [first] = parts;
  return first && parts.length === 1 ? first : Buffer.concat(parts);
};
