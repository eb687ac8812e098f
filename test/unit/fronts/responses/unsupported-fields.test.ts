// Unsupported fields of a request are refused by name or left out, as the documentation says.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ECHOED_FIELDS } from '../../../../src/fronts/responses/echoed-settings.ts';
import { DROPPED_FIELDS, REFUSED_FIELDS } from '../../../../src/fronts/responses/response-fields.ts';
import { readAsMessages, refusalOf } from './read-response.ts';

const page = readFileSync(join(import.meta.dir, '..', '..', '..', '..', 'docs', 'responses.md'), 'utf8');
const paragraph = (word: string) => page.split('\n\n').find((text) => text.startsWith(`**${word}**`)) ?? '';
const namesIn = (text: string) => [...text.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? '');

test('the refused fields are those that the documentation names', () => {
  expect(namesIn(paragraph('Refused')).sort()).toEqual(Object.keys(REFUSED_FIELDS).sort());
  for (const name of Object.keys(REFUSED_FIELDS)) {
    expect(refusalOf({ [name]: 'x' })).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(`${name}: `),
    });
    expect(readAsMessages({ [name]: null })).toEqual(readAsMessages({}));
  }
  expect(readAsMessages({ store: false, background: false, top_logprobs: 0 })).toEqual(readAsMessages({}));
});

test('the ignored fields are those that the documentation names', () => {
  expect(namesIn(paragraph('Left out')).sort()).toEqual([...DROPPED_FIELDS].sort());
  expect(namesIn(paragraph('Only repeated')).sort()).toEqual([...ECHOED_FIELDS]);
  for (const name of DROPPED_FIELDS) expect(readAsMessages({ [name]: 'x' })).toEqual(readAsMessages({}));
  expect(readAsMessages({ min_p: 1, extra_body: { top_k: 2 } })).toEqual({
    ...readAsMessages({}),
    extra_body: { min_p: 1, top_k: 2 },
  });
});
