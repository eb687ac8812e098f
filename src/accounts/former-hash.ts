// While the installation's secret is being replaced, what callers show may be stored under the hash
// of the secret before it: it is found there too, and moved to the present hash once it was shown.

/** Hashes under the installation's former secret, while that one is accepted. */
export interface FormerHashes {
  hash(secret: string): string;
  /** Moves what is stored under the former hash to the present one; nothing where that was done before. */
  move(from: string, to: string): Promise<void>;
}

/**
 * What is stored under the present hash of a secret or under its former one, and whether it may be the former. `find` looks for
 * both of two hashes at once: between two looks it may be moved, to and fro while nodes do not yet agree on which secret is the present one.
 */
export async function findUnderEither<Found>(
  hash: string,
  formerHash: string | null,
  find: (hash: string, otherHash?: string) => Promise<Found | null>,
): Promise<{ found: Found | null; isFormer: boolean }> {
  const found = await find(hash);
  if (found !== null || formerHash === null) return { found, isFormer: false };
  const either = await find(hash, formerHash);
  return { found: either, isFormer: either !== null };
}
