// The keys that early.ts collects from the search shortcut on, until the search field has the focus.

import type { EarlySearch } from './early.ts';

/** Lets the shortcut show the search, at once if it was used before. Returns what ends that. */
export function offerSearch(show: (isShown: boolean) => void): () => void {
  Object.assign(globalThis.turnpikeSearch, { isOffered: true, show });
  if (globalThis.turnpikeSearch.text !== null) show(true);
  return refuseSearch;
}

/** For pages without the search. */
export function refuseSearch(): void {
  const none: EarlySearch = { isOffered: false, isOpen: false, text: null, isEntered: false, show: null };
  Object.assign(globalThis.turnpikeSearch, none);
}

/** Keeps the keys from now on, as the shortcut does. */
export function keepTyped(): void {
  globalThis.turnpikeSearch.text ??= '';
}

/** The field of the search has the focus: keys go there. Returns what was typed before. */
export function takeTyped(): Pick<EarlySearch, 'text' | 'isEntered'> {
  const { text, isEntered } = globalThis.turnpikeSearch;
  Object.assign(globalThis.turnpikeSearch, { isOpen: true, text: null, isEntered: false });
  return { text, isEntered };
}

export function endSearch(): void {
  Object.assign(globalThis.turnpikeSearch, { isOpen: false, text: null, isEntered: false });
}
