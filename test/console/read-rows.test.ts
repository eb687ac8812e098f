// Lists of people as they are pasted into the console.

import { expect, test } from 'bun:test';
import { readRows } from '../../console/features/people/read-rows.ts';

test.each([
  ['ada@example.com', { email: 'ada@example.com' }],
  ['ada@example.com, Ada Lovelace', { email: 'ada@example.com', name: 'Ada Lovelace' }],
  ['Ada\tLovelace\tada@example.com', { email: 'ada@example.com', name: 'Ada Lovelace' }],
  ['"Lovelace, Ada" <ada@example.com>;', { email: 'ada@example.com', name: 'Lovelace Ada' }],
  ['nobody', { email: 'nobody' }],
])('a line is read as email and name: %j', (line, row) => {
  expect(readRows(line)).toEqual([row]);
});

test('each line is a row, and empty ones are none', () => {
  expect(readRows('\r\na@example.com\r\n \n b@example.com\n').map(({ email }) => email)).toEqual([
    'a@example.com',
    'b@example.com',
  ]);
  expect(readRows(' \n')).toEqual([]);
});
