/** On demand, us-east-1, of a million units; a write of up to 1 KB and a consistent read of up to 4 KB take one. */
const WRITE_PRICE = 0.625;
const READ_PRICE = 0.125;

/** Dollars of a million times so many units. */
export const priceOf = (writeUnits: number, readUnits: number): string =>
  (writeUnits * WRITE_PRICE + readUnits * READ_PRICE).toFixed(3);

export const print = (...cells: (string | number)[]): void => {
  const [first = '', ...rest] = cells.map(String);
  process.stdout.write(`${first.padEnd(48)}${rest.map((cell) => cell.padStart(10)).join('')}\n`);
};
