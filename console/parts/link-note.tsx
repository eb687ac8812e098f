// What a person is called, and until when their one-time link can be opened.

import { Text } from '@mantine/core';
import type { PersonShape } from '../../src/admin-api/shapes.ts';
import { words } from '../words.ts';
import { When } from './when.tsx';

const { people } = words;

/** Until when the one-time link can be opened. */
export function LinkNote({ person: { link_expires_at: ends, status } }: { person: PersonShape }) {
  if (ends === null || status === 'disabled') return null;
  const isOver = Date.parse(ends) < Date.now();
  return (
    <Text size="xs" c={isOver ? 'red' : 'dimmed'}>
      {isOver ? (
        people.linkOver
      ) : (
        <>
          {people.linkUntil} <When at={ends} />
        </>
      )}
    </Text>
  );
}

export function nameOfPerson({ name, email }: PersonShape): string {
  return name || email || people.noEmail;
}
