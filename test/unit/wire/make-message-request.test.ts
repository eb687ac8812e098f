// A translated message is the request that its JSON would be, with the same bounds.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  exactBody,
  type JsonObject,
  makeMessageRequest,
  parseExactly,
  parseMessageRequest,
} from '../../../src/wire/wire.ts';

const message = (members: JsonObject): JsonObject => ({
  model: 'm',
  messages: [{ role: 'user', content: 'é "😀"\n' }],
  ...members,
});
const parsed = (of: JsonObject) => parseMessageRequest(Buffer.from(JSON.stringify(of)), 'responses');

test('text, bytes, places of members and values are those of the JSON', async () => {
  const anyMembers = fc.dictionary(
    fc.string().map((name) => `x-${name}`),
    fc.jsonValue(),
  );
  await fc.assert(
    fc.asyncProperty(anyMembers, async (members) => {
      const one = message(JSON.parse(JSON.stringify(members)));
      expect(await makeMessageRequest(one, 'responses', null)).toEqual(parsed(one));
    }),
  );
});

test('long numbers are numbers in the body, and exact where that is asked for', async () => {
  const exact = parseExactly('{"metadata":{"id":12345678901234567890},"temperature":1}') as JsonObject;
  const request = await makeMessageRequest(message(exact), 'responses', null);
  expect(request).toEqual(parsed(message(exact)));
  expect(request.body['metadata']).toEqual({ id: 12345678901234567000 });
  expect(JSON.stringify(exactBody(request)['metadata'])).toBe('{"id":12345678901234567890}');
});

test('what a message may not have is refused', async () => {
  const refused = makeMessageRequest(message({ max_tokens: -1 }), 'responses', null);
  await expect(refused).rejects.toMatchObject({ code: 'invalid_request' });
  const advised = message({ tools: [{ type: 'advisor_20260301', name: 'advisor' }] });
  expect((await makeMessageRequest(advised, 'responses', null)).body).not.toHaveProperty('tools');
});

test('a message that is deeper or has more values than a body may is refused', async () => {
  const nested = JSON.parse('['.repeat(130) + ']'.repeat(130));
  await expect(makeMessageRequest(message({ metadata: { nested } }), 'responses', null)).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('nested deeper'),
  });
  const many = Array.from({ length: 150_001 }, () => 1);
  await expect(makeMessageRequest(message({ metadata: { many } }), 'responses', null)).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('values'),
  });
});
