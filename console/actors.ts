// Who made something, by name: a person, a token, the machine's own operator or the service. Those whom one may not see
// are shown by their ids.

import { useNamesOf } from './names.ts';
import { words } from './words.ts';

/** The name of each actor, or its id as long as it has none that is known. */
export function useActors(ids: readonly (string | null)[]): (id: string | null) => string {
  const people = useNamesOf<{ name: string; email: string | null }>('/people', ofKind(ids, 'person_'));
  const tokens = useNamesOf<{ name: string }>('/tokens', ofKind(ids, 'tok_'));
  return (id) => {
    if (id === null) return words.actors.unknown;
    if (id === 'local') return words.actors.local;
    if (id === 'start') return words.actors.start;
    return people.get(id) || tokens.get(id) || id;
  };
}

function ofKind(ids: readonly (string | null)[], kind: string): string[] {
  return ids.filter((id) => id?.startsWith(kind)) as string[];
}
