// The forms in which a secret may appear where it should not: plain, encoded, or in part. It has no tests of its own.

/** A secret, and the name under which it is reported. */
export interface Canary {
  name: string;
  text: string;
}

const PART_LEAST = 16;

/**
 * The patterns to search for: a part of the text as it is, in hex, percent-encoded, and in base64 at every alignment.
 */
export function encodingsOf(text: string): string[] {
  const plain = middleOf(text);
  const bytes = Buffer.from(plain);
  const forms = [plain, bytes.toString('hex'), bytes.toString('hex').toUpperCase(), encodeURIComponent(plain)];
  for (let shift = 0; shift < 3; shift++) {
    // The first and last characters also depend on the neighboring bytes.
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const sure = shifted.slice(Math.ceil((shift * 8) / 6), -2);
    forms.push(sure, sure.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return [...new Set(forms)];
}

/** The middle part, so that a secret that was truncated or masked at its ends is found, too. */
function middleOf(text: string): string {
  const cut = Math.max(0, Math.min(Math.floor(text.length / 4), Math.floor((text.length - PART_LEAST) / 2)));
  return text.slice(cut, text.length - cut);
}

/** Which canaries are found in which places, as "place: canary". */
export function findCanaries(places: Readonly<Record<string, string | Buffer>>, canaries: readonly Canary[]): string[] {
  const wanted = canaries.flatMap(({ name, text }) =>
    encodingsOf(text).map((disguise) => ({ name, bytes: Buffer.from(disguise) })),
  );
  const found = Object.entries(places).flatMap(([place, content]) => {
    const bytes = Buffer.from(content);
    return wanted.filter((one) => bytes.includes(one.bytes)).map((one) => `${place}: ${one.name}`);
  });
  return [...new Set(found)];
}
