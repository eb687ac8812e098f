// The extract of the OpenAPI document that commands are made from is current.

import { expect, test } from 'bun:test';
import { describeOperations, operationsPath } from './operations.ts';
import { readText } from './sources.ts';

test('src/commands/operations.json is the one of the OpenAPI document: `npm run fix` writes it', async () => {
  expect(readText(operationsPath)).toBe(await describeOperations());
});
