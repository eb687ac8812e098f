// Secrets that were not copied and edits that were not saved, which leaving the page would lose. The guard in the frame of the
// pages asks before.

import { useEffect, useSyncExternalStore } from 'react';

type Unsaved = 'secret' | 'edits';

/** By the part of the page that has it. */
const unsaved = new Map<object, Unsaved>();
/** What was asked for meanwhile. */
let pending: (() => void) | null = null;
const listeners = new Set<() => void>();

/** What would be lost; null: nothing. A secret matters more. */
export function whatIsUnsaved(): Unsaved | null {
  const kinds = [...unsaved.values()];
  return kinds.includes('secret') ? 'secret' : (kinds[0] ?? null);
}

export function setPending(action: (() => void) | null): void {
  pending = action;
  for (const listener of listeners) listener();
}

/** The action that waits for the user's confirmation. */
export function usePending(): (() => void) | null {
  return useSyncExternalStore(subscribe, () => pending);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Runs an action that removes what is unsaved from the page, after a confirmation. */
export function leave(action: () => void): void {
  if (whatIsUnsaved() === null) action();
  else setPending(action);
}

/** The same for secrets only: cancelling a form discards its edits. */
export function leaveSecret(action: () => void): void {
  if (whatIsUnsaved() === 'secret') setPending(action);
  else action();
}

/** Marks the secret on the page as copied or downloaded. */
export function markSecretSaved(): void {
  forget('secret');
}

/** Marks the edits on the page as saved. */
export function markEditsSaved(): void {
  forget('edits');
}

function forget(kind: Unsaved): void {
  for (const [part, one] of unsaved) if (one === kind) unsaved.delete(part);
}

export function forgetUnsaved(): void {
  unsaved.clear();
}

/** For parts that show a secret for the only time: the user is warned before it is lost. */
export function useShownSecret(): void {
  useEffect(() => remember('secret'), []);
}

/** For forms: the user is warned before edits are lost. Edits after the last save count anew when the values change. */
export function useUnsavedEdits(isDirty: boolean, values: unknown): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: saved edits are not remembered again
  useEffect(() => (isDirty ? remember('edits') : undefined), [isDirty, values]);
}

function remember(kind: Unsaved): () => void {
  const part = {};
  unsaved.set(part, kind);
  return () => unsaved.delete(part);
}
