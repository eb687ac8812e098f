// Names of tools and ids of their calls on their way there and back. Both sides bound them differently, so some
// are replaced: always the same one by the same, so that nothing has to be remembered between two requests.

import { createHash } from 'node:crypto';

import type { Profile } from './profile.ts';

const SENDABLE_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const NAME_KEPT_CHARACTERS = 51;
const HASH_CHARACTERS = 12;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The name of a tool as it is sent: the same, or a shorter one that no other tool gets. */
export function sentToolName(name: string): string {
  if (SENDABLE_NAME.test(name)) return name;
  const kept = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, NAME_KEPT_CHARACTERS);
  return `${kept}_${hashText(name, HASH_CHARACTERS)}`;
}

const OWN_ID = /^toolu_tp([A-Za-z0-9]{8})_([A-Za-z0-9_-]*)$/;
const UNIQUE_ID = /^[a-zA-Z0-9_-]{4,128}$/;
const COUNTED_ID = /^(?:.*[_-])?\d{1,4}$/; // "call_0": the next answer will have one of that name as well

/**
 * The id of a call as a client gets it: the provider's own, or, where that is absent, has characters that no client takes,
 * or is only a number, one that holds it. `messageId` and `place` make it unique.
 */
export function shownCallId(id: string, messageId: string, place: number): string {
  if (UNIQUE_ID.test(id) && !COUNTED_ID.test(id)) return id;
  return `toolu_tp${hashText(`${messageId} ${place}`, 8)}_${Buffer.from(id).toString('base64url')}`;
}

/** The id of a call as the provider gets it: what it said itself, or another where its form is not the provider's. */
export function sentCallId(id: string, { toolIds }: Profile): string {
  const held = OWN_ID.exec(id)?.[2];
  const known = held ? Buffer.from(held, 'base64url').toString('utf8') : id;
  // Where it counts its calls, a conversation has several of one id: those are told apart by their turn.
  const own = COUNTED_ID.test(known) ? id : known;
  return toolIds.form.test(own) ? own : hashText(own, Math.min(toolIds.madeCharacters, 24));
}

/** As many base62 characters of a hash. */
function hashText(text: string, characters: number): string {
  const bytes = createHash('sha256').update(text).digest();
  return Array.from(bytes.subarray(0, characters), (byte) => BASE62[byte % BASE62.length]).join('');
}
