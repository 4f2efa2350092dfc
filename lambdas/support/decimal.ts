/** An integer of 10^-scale as a decimal number, without an exponent. */
export const decimalOf = (value: bigint, scale: number): string => {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  const whole = digits.slice(0, -scale);
  let fraction = digits.slice(-scale);
  while (fraction.endsWith('0')) fraction = fraction.slice(0, -1);
  return `${value < 0n ? '-' : ''}${whole}${fraction && `.${fraction}`}`;
};
