// A person as the API shows it, and how one is found by the id that a caller gave.

import { z } from '@hono/zod-openapi';
import type { Person } from '../accounts/accounts.ts';
import { formatId, parseId } from '../base/ids.ts';
import { TurnpikeError } from '../errors.ts';
import { actorShown, idField, timeShown } from './answers.ts';
import type { AdminDependencies } from './dependencies.ts';
import { isoTime } from './key-json.ts';
import { maySeePerson, type Principal } from './principal.ts';
import { roleField } from './token-json.ts';

export const personSchema = z
  .object({
    id: idField('person'),
    role: roleField,
    account: idField('acct').nullable().openapi({ description: 'Null: of the installation.' }),
    email: z.string().nullable().openapi({
      description:
        'Null until the invitation of the first start is accepted, and of whom somebody else was invited in place of.',
    }),
    name: z.string(),
    status: z.enum(['invited', 'enabled', 'disabled']),
    link_expires_at: timeShown.nullable().openapi({ description: 'Of the one-time link, until it is accepted.' }),
    made_by: actorShown,
    created_at: timeShown,
  })
  .openapi('Person');

export function personJson(person: Person): z.infer<typeof personSchema> {
  return {
    id: formatId('person', person.id),
    role: person.role,
    account: person.accountId === null ? null : formatId('acct', person.accountId),
    email: person.email,
    name: person.name,
    status: person.status,
    link_expires_at: isoTime(person.linkExpiresAtMs),
    made_by: person.madeBy,
    created_at: new Date(person.createdAtMs).toISOString(),
  };
}

/** The person of an id "person_…", where the principal may see them. Throws object_not_found. */
export async function findPerson({ people }: AdminDependencies, principal: Principal, id: string): Promise<Person> {
  const number = parseId('person', id);
  const person = number === null ? null : await people.getPerson(number);
  if (person === null || !maySeePerson(principal, person))
    throw new TurnpikeError('object_not_found', `There is no person "${id}".`);
  return person;
}
