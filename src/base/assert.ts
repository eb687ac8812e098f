// Assertions guard our own code. Faults that a client, provider or disk can cause are errors of errors.ts.

export class BrokenInvariant extends Error {
  override name = 'BrokenInvariant';
}

/** Throws BrokenInvariant with the sentence when the claim is false. */
export function assert(claim: boolean, sentence: string): asserts claim {
  if (!claim) throw new BrokenInvariant(sentence);
}
