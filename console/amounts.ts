// Reads amounts as people type them: "1,000", "$50", "1.000,50", "1 000.50", "0,5". Of a comma and a point, the last one is
// decimal, and the other one separates thousands. A separator that is repeated separates thousands, and so does a comma
// before exactly three digits ("1,000"). Anything else is decimal, also a point ("1.000" is one dollar). Pure.

/** Of an amount in nanodollars; rates have more. */
const DIGITS_MAX = 9;

export interface ReadAmount {
  /** As the API takes it, "1000.5"; the text itself if it is not an amount. */
  usd: string;
  /** What is expected instead; null for an amount and for an empty text. */
  fault: string | null;
  /** Whether the amount can be read in another way than the text looks, so that the field shows it. */
  isConverted: boolean;
}

export function readAmount(typed: string, digitsMax = DIGITS_MAX): ReadAmount {
  const text = typed.trim();
  const fail = (fault: string) => ({ usd: text, fault, isConverted: false });
  if (text === '') return { usd: '', fault: null, isConverted: false };
  const [, sign, figure] = /^([+−-]?)\s*(?:\$|US\$|USD)?\s*([\d.,'’_\s]*\d[.,]?)\s*(?:\$|USD)?$/i.exec(text) ?? [];
  const parts = figure === undefined ? null : partsOf(figure);
  if (parts === null) return fail('Enter an amount, for example 1,000 or 0.50.');
  if (parts.fraction.length > digitsMax) return fail(`Enter at most ${digitsMax} digits after the decimal point.`);
  const whole = parts.whole.replace(/^0+(?=\d)/, '');
  const usd = `${/[−-]/.test(sign ?? '') ? '-' : ''}${whole}${parts.fraction === '' ? '' : `.${parts.fraction}`}`;
  const isPlain = /^-?\d+(?:\.(?:\d{1,2}|\d{4,}))?$/.test(text);
  return { usd, fault: null, isConverted: !isPlain };
}

/** The amount for the API; a text that is not an amount stays as it is, so that the API rejects it. */
export function amountOf(typed: string, digitsMax = DIGITS_MAX): string {
  return readAmount(typed, digitsMax).usd;
}

/** Whether more digits can make an amount of it: "$", "1,000,0". */
export function isBegun(typed: string): boolean {
  return /^[+−-]?\s*(?:\$|US\$)?\s*\d{0,3}(?:[.,'’_\s]\d{3})*(?:[.,'’_\s]\d{0,2})?$/i.test(typed.trim());
}

interface Parts {
  whole: string;
  fraction: string;
}

/** Null if the thousands are not in groups of three digits. */
function partsOf(figure: string): Parts | null {
  const decimal = decimalOf(figure);
  const at = decimal === null ? figure.length : figure.lastIndexOf(decimal);
  const [whole, fraction] = [figure.slice(0, at), figure.slice(at + 1)];
  const separator = /[^\d]/.exec(whole)?.[0];
  if (separator !== undefined) {
    const groups = whole.split(separator);
    if (!/^\d{1,3}$/.test(groups[0] ?? '') || groups.slice(1).some((group) => !/^\d{3}$/.test(group))) return null;
    return /^\d*$/.test(fraction) ? { whole: groups.join(''), fraction } : null;
  }
  return /^\d*$/.test(fraction) ? { whole: whole === '' ? '0' : whole, fraction } : null;
}

function decimalOf(figure: string): ',' | '.' | null {
  const marks = figure.replace(/[^.,]/g, '');
  const last = marks.at(-1);
  if (last !== ',' && last !== '.') return null;
  if (marks.slice(0, -1).includes(last)) return null; // repeated, so it separates thousands
  const isThousand = last === ',' && marks.length === 1 && /^[1-9]\d{0,2},\d{3}$/.test(figure);
  return isThousand ? null : last;
}
