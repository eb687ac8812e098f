// Asking for what may not be had: why not is a fact too.

import type { Told } from './facts.ts';

export function tell<Fact>(find: () => Fact): Told<Fact> {
  try {
    return { is: find() };
  } catch (failure) {
    return { failure: failure instanceof Error ? failure.message : String(failure) };
  }
}

/** Null is what cannot be had: its absence is judged where it matters. */
export function orNull<Fact>(find: () => Fact): Fact | null {
  try {
    return find();
  } catch {
    return null;
  }
}
