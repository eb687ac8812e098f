// Finds the keys of an actor by an index: a person has the keys that are theirs, a token the service keys that it made.

import { parseId } from '../base/ids.ts';

export interface KeysOfActor {
  column: 'person_id' | 'made_by';
  index: 'keys_of_person' | 'keys_of_maker';
  value: number | string;
  /** Conditions on the rows that the index finds. */
  where: readonly string[];
}

/** The same as `isKeyOf`. */
export function keysOfActor(actor: string): KeysOfActor {
  const person = parseId('person', actor);
  if (person !== null)
    return { column: 'person_id', index: 'keys_of_person', value: person, where: ['r.person_id IS NOT NULL'] };
  return { column: 'made_by', index: 'keys_of_maker', value: actor, where: ['r.person_id IS NULL'] };
}

/** The same for a row. */
export function isOfActor(row: { person_id: number | null; made_by: string | null }, actor: string): boolean {
  const { column, value } = keysOfActor(actor);
  return column === 'person_id' ? row.person_id === value : row.person_id === null && row.made_by === value;
}
