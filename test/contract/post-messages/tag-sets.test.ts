// Which messages store a set of tags: those that the service would sell, of accounts that can pay.

import { expect, test } from 'bun:test';
import { type TagSet, TagSets } from '../../../src/accounts/accounts.ts';
import { type ControlledService, messageReply, startControlled } from './controlled-service.ts';

/** Counts in memory the sets that are added. */
function watchSets(service: ControlledService): TagSet[] {
  const added: TagSet[] = [];
  const tagSets = new TagSets({
    findTagSet: async ({ id }) => ({ isStored: added.some((set) => set.id === id), count: added.length }),
    addTagSet: async (set) => void added.push(set),
  });
  Object.assign(service.gateway, { tagSets });
  return added;
}

async function post({ url }: ControlledService, secret: string, tags: string, model = 'm'): Promise<number> {
  const headers = { 'content-type': 'application/json', 'x-api-key': secret, 'x-turnpike-tags': tags };
  const body = JSON.stringify({ model, max_tokens: 64, messages: [{ role: 'user', content: 'hi' }] });
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body });
  await response.text();
  return response.status;
}

test('a message to an unknown model stores none', async () => {
  await using service = await startControlled({ answer: async () => messageReply() });
  const added = watchSets(service);
  const secret = await service.makeKey();
  for (const team of ['a', 'b']) expect(await post(service, secret, `team=${team}`, 'nonesuch')).toBe(400);
  expect(added).toEqual([]);
  expect(await post(service, secret, 'team=a')).toBe(200);
  expect(added).toMatchObject([{ text: '{"team":"a"}' }]);
});

test('messages of an account without money store one, whatever tags they have', async () => {
  await using service = await startControlled({ creditNano: 0 });
  const added = watchSets(service);
  const secret = await service.makeKey();
  for (let at = 0; at < 5; at++) expect(await post(service, secret, `team=t${at}`)).toBe(400);
  expect(added).toHaveLength(1);
});
