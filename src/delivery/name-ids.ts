// Sentences for people: the names of users and keys in place of their ids. Webhooks have the ids, in members of their own.

import { describeEvent, type StoredEvent } from '../events/events.ts';

const ID = /\b(?:person|key)_[0-9A-Za-z]{9}\b/g;

/** The event in a sentence. An id whose object has no name, or no longer exists, stays. */
export async function describeByName(
  event: StoredEvent,
  nameOf: (id: string) => Promise<string | null>,
): Promise<string> {
  const sentence = describeEvent(event);
  const names = new Map<string, string | null>();
  for (const [id] of sentence.matchAll(ID)) if (!names.has(id)) names.set(id, await nameOf(id));
  return sentence.replaceAll(ID, (id) => names.get(id) || id);
}
