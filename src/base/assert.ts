// An assertion guards an invariant of our own code. What a caller, a provider or a disk can
// cause is an error of errors.ts, never an assertion.

export class BrokenInvariant extends Error {
  override name = 'BrokenInvariant';
}

/** Throws BrokenInvariant with the sentence when the claim is false. */
export function assert(claim: boolean, sentence: string): asserts claim {
  if (!claim) throw new BrokenInvariant(sentence);
}
