// The forms in which a secret may turn up where it should not: in plain, encoded, or a part of it. No
// tests of its own.

/** A secret by the name under which a find is told. */
export interface Canary {
  name: string;
  text: string;
}

const PART_LEAST = 16;

/** What to look for: a stretch of the text as it is, in hex, percent-encoded, and in base64 wherever in a text it stands. */
export function disguisesOf(text: string): string[] {
  const plain = middleOf(text);
  const bytes = Buffer.from(plain);
  const forms = [plain, bytes.toString('hex'), bytes.toString('hex').toUpperCase(), encodeURIComponent(plain)];
  for (let shift = 0; shift < 3; shift++) {
    // The first and last characters also depend on what stands before and behind.
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const sure = shifted.slice(Math.ceil((shift * 8) / 6), -2);
    forms.push(sure, sure.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return [...new Set(forms)];
}

/** Its middle, so that a secret that was cut off or masked at its ends is found too. */
function middleOf(text: string): string {
  const cut = Math.max(0, Math.min(Math.floor(text.length / 4), Math.floor((text.length - PART_LEAST) / 2)));
  return text.slice(cut, text.length - cut);
}

/** Which canaries are in which of the places, as "place: canary". */
export function findCanaries(places: Readonly<Record<string, string | Buffer>>, canaries: readonly Canary[]): string[] {
  const wanted = canaries.flatMap(({ name, text }) =>
    disguisesOf(text).map((disguise) => ({ name, bytes: Buffer.from(disguise) })),
  );
  const found = Object.entries(places).flatMap(([place, content]) => {
    const bytes = Buffer.from(content);
    return wanted.filter((one) => bytes.includes(one.bytes)).map((one) => `${place}: ${one.name}`);
  });
  return [...new Set(found)];
}
