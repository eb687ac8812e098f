// The tags of a message: which of several with one name counts, and which of them the daily totals distinguish.

import { expect, test } from 'bun:test';
import { type Caller, newKey, TagSets, tagSetOf, tagsText } from '../../../src/accounts/accounts.ts';
import { DAY_MS } from '../../../src/base/clock.ts';
import { OTHER_TAG_SET } from '../../../src/base/tag-set-numbers.ts';
import { settingsFrom } from '../../../src/catalog/settings.ts';
import { attribute } from '../../../src/gateway/attribution.ts';
import type { ClientRequest } from '../../../src/gateway/gateway.ts';
import type { MessageRequest } from '../../../src/wire/wire.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { memoryStores } from '../../support/memory-store/memory-store.ts';

const NOW_MS = Date.UTC(2026, 10, 20);

function account(id: number, members: Partial<Caller['account']> = {}): Caller['account'] {
  return { id, name: '', groups: ['default'], status: 'enabled', createdAtMs: 0, ...members };
}

function callerOf(members: Partial<Caller>): Caller {
  const key = newKey(1, '', 'sk', null, NOW_MS);
  return { account: account(1), above: [], key, person: null, secretExpiresAtMs: null, plan: null, ...members };
}

async function attributed(caller: Caller, header: string | null, settings = {}, userId: string | null = null) {
  const clock = manualClock(NOW_MS);
  const { tagSets: store } = memoryStores(clock);
  const clientRequest = { header: (name: string) => (name === 'x-turnpike-tags' ? header : null) };
  const request = { protocol: 'messages', body: userId === null ? {} : { metadata: { user_id: userId } } };
  const gateway = { tagSets: new TagSets(store, 2), clock };
  const ask = () =>
    attribute(gateway, settingsFrom(settings), caller, clientRequest as ClientRequest, request as MessageRequest, 'm');
  return await ask();
}

test('tags of accounts come before those of people, keys and clients, and the nearest account has the last word', async () => {
  const caller = callerOf({
    account: account(1, { tags: { team: 'account' } }),
    above: [account(2, { tags: { team: 'above', unit: 'above' } }), account(3, { tags: { unit: 'top', firm: 'top' } })],
    person: { tags: { team: 'person', desk: 'person' } } as unknown as Caller['person'],
    key: { ...newKey(1, '', 'sk', null, NOW_MS), tags: { desk: 'key', app: 'key' } },
  });
  const { tags } = await attributed(caller, 'app=sent,firm=sent,own=sent');
  expect(tags).toEqual({ team: 'account', unit: 'above', firm: 'top', desk: 'person', app: 'key', own: 'sent' });
});

test('tags that an account above requires or pins are required and pinned below it', async () => {
  const rules = { required: ['team'], pinned: ['unit'] };
  const caller = callerOf({ above: [account(2, { tagRules: rules })] });
  await expect(attributed(caller, 'unit=sent')).rejects.toMatchObject({ code: 'invalid_request' });
  expect((await attributed(caller, 'team=a,unit=sent')).tags).toEqual({ team: 'a' });
});

test('totals distinguish the tags of the header, or those that the operator names', async () => {
  const byDefault = await attributed(callerOf({}), 'team=a,run=7', {}, 'anna');
  expect(byDefault.tags).toEqual({ team: 'a', run: '7', user: 'anna' });
  expect(byDefault.tagSet).toBe(tagSetOf(tagsText({ team: 'a', run: '7' })));
  const named = await attributed(callerOf({}), 'team=a,run=7', { tags_in_totals: ['team', 'user'] }, 'anna');
  expect(named.tagSet).toBe(tagSetOf(tagsText({ team: 'a', user: 'anna' })));
  expect((await attributed(callerOf({}), 'run=7', { tags_in_totals: ['team'] })).tagSet).toBe(0);
});

test('rows of totals are bounded by day and model, also for tags that are known', async () => {
  const clock = manualClock(NOW_MS);
  const gateway = { tagSets: new TagSets(memoryStores(clock).tagSets, 2, 1), clock };
  const caller = callerOf({});
  const settings = settingsFrom({});
  const clientRequest = { header: (name: string) => (name === 'x-turnpike-tags' ? 'team=a' : null) } as ClientRequest;
  const request = { protocol: 'messages', body: {} } as MessageRequest;
  const ask = async (model: string) =>
    (await attribute(gateway, settings, caller, clientRequest, request, model)).tagSet;
  const own = tagSetOf(tagsText({ team: 'a' }));
  expect([await ask('m'), await ask('n'), await ask('m')]).toEqual([own, OTHER_TAG_SET, own]);
  clock.advance(DAY_MS);
  expect([await ask('n'), await ask('m'), await ask('n')]).toEqual([own, OTHER_TAG_SET, own]);
});
