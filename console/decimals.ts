// Decimal texts as whole numbers of their smallest unit, and back. Amounts are never fractions of the machine, but
// in pictures.

/** "1.5" as units of 10^-digits. Null for what is no decimal, or finer than that. */
export function readDecimal(text: string | undefined, digits: number): bigint | null {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text ?? '');
  if (match === null) return null;
  const [, sign, whole = '', fraction = ''] = match;
  const kept = fraction.replace(/0+$/, '');
  if (kept.length > digits) return null;
  const units = BigInt(whole + kept.padEnd(digits, '0'));
  return sign === '-' ? -units : units;
}

/** Without zeros at its end: "1.5". */
export function printDecimal(units: bigint, digits: number): string {
  const size = (units < 0n ? -units : units).toString().padStart(digits + 1, '0');
  const fraction = size.slice(size.length - digits).replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${size.slice(0, size.length - digits)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** "0.0012" as 0.0012, for the length of a bar or the height of a line. */
export function forPicture(usd: string | null): number | null {
  return usd === null ? null : Number(usd);
}
