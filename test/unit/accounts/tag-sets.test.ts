// The sets of tags that daily totals distinguish: a bounded number of an account in a month, whatever clients send.

import { expect, test } from 'bun:test';
import { type TagSet, type TagSetStore, TagSets, tagSetOf, tagsText } from '../../../src/accounts/accounts.ts';
import { DAY_MS } from '../../../src/base/clock.ts';
import { NO_TAG_SET, OTHER_TAG_SET } from '../../../src/base/tag-set-numbers.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { memoryStores } from '../../support/memory-store/memory-store.ts';
import { setBounds } from '../../support/set-bounds.ts';

const NOW_MS = Date.UTC(2026, 10, 20);
const NEXT_MONTH_MS = Date.UTC(2026, 11, 1);

function open(setsMax: number) {
  const { tagSets: store, tables } = memoryStores(manualClock(NOW_MS));
  const reads: TagSet[] = [];
  const counting: TagSetStore = {
    ...store,
    findTagSet(set) {
      reads.push(set as TagSet);
      return store.findTagSet(set);
    },
  };
  return { sets: new TagSets(counting, setsMax), other: new TagSets(store, setsMax), tables, reads };
}

const team = (value: string) => tagsText({ team: value });

test('a set has the same number on every node, whatever the order of its tags, and none without tags', async () => {
  const { sets, other } = open(10);
  const text = tagsText({ b: '2', a: '1' });
  expect(text).toBe('{"a":"1","b":"2"}');
  expect(await sets.find(1, text, '', NOW_MS)).toBe(tagSetOf(text));
  expect(await other.find(1, tagsText({ a: '1', b: '2' }), '', NOW_MS)).toBe(tagSetOf(text));
  expect(sets.find(1, tagsText({}), '', NOW_MS)).toBe(NO_TAG_SET);
  expect(Number.isSafeInteger(tagSetOf(text)) && tagSetOf(text) > OTHER_TAG_SET).toBe(true);
});

test('a set that a node has met is found without the store', async () => {
  const { sets, reads } = open(10);
  await sets.find(1, team('a'), '', NOW_MS);
  const before = reads.length;
  expect(sets.find(1, team('a'), '', NOW_MS)).toBe(tagSetOf(team('a')));
  expect(reads.length).toBe(before);
});

test('beyond the bound, sets count by their fixed tags, then as others, and each account and month has its own bound', async () => {
  const { sets, tables } = open(3);
  const fixed = tagsText({ cost_centre: '4711' });
  const found = new Set<number>();
  for (let at = 0; at < 50; at++) found.add(await sets.find(1, team(`t${at}`), fixed, NOW_MS));
  expect(found.size).toBe(4);
  expect(found.has(tagSetOf(fixed))).toBe(true);
  for (let at = 0; at < 50; at++) found.add(await sets.find(1, team(`u${at}`), team(`fixed ${at}`), NOW_MS));
  expect(tables.tagSets.length).toBe(6);
  expect(found.has(OTHER_TAG_SET)).toBe(true);
  expect(await sets.find(1, team('t0'), fixed, NOW_MS)).toBe(tagSetOf(team('t0')));
  expect(await sets.find(2, team('x'), fixed, NOW_MS)).toBe(tagSetOf(team('x')));
  expect(await sets.find(1, team('x'), fixed, NEXT_MONTH_MS)).toBe(tagSetOf(team('x')));
});

test('sets that several messages bring at once share one look, and exceed no bound', async () => {
  const { sets, tables } = open(3);
  const asked = Array.from({ length: 40 }, (_, at) => sets.find(1, team(`t${at % 20}`), '', NOW_MS));
  expect(asked[0]).toBe(asked[20] as Promise<number>);
  const found = await Promise.all(asked);
  expect(tables.tagSets.length).toBe(3);
  expect(new Set(found).size).toBe(4);
});

test('an account whose message was refused for lack of money stores no set until it pays, but has those that are stored', async () => {
  const { sets, tables } = open(10);
  await sets.find(1, team('a'), '', NOW_MS);
  sets.noteAdmission(1, true);
  for (let at = 0; at < 5; at++) expect(await sets.find(1, team(`t${at}`), team('fixed'), NOW_MS)).toBe(OTHER_TAG_SET);
  expect([sets.find(1, team('a'), '', NOW_MS), tables.tagSets.length]).toEqual([tagSetOf(team('a')), 1]);
  expect(await sets.find(2, team('b'), '', NOW_MS)).toBe(tagSetOf(team('b')));
  sets.noteAdmission(1, false);
  expect(await sets.find(1, team('t0'), '', NOW_MS)).toBe(tagSetOf(team('t0')));
});

test('the accounts without money that are remembered are bounded', () => {
  const { sets } = open(10);
  using _few = setBounds({ tagSetsRefusedMax: 2 });
  for (const account of [1, 2, 3]) sets.noteAdmission(account, true);
  expect(sets.refusedAccounts).toBe(2);
});

test('a company has a bounded number of rows with tags in a day, over all of its keys, models and sets', () => {
  const sets = new TagSets(memoryStores(manualClock(NOW_MS)).tagSets, 10, 3);
  const setOf = (row: object, nowMs = NOW_MS) =>
    sets.setOfRow({ company: 1, key: 1, model: 'm', tagSet: 5, ...row }, nowMs);
  expect([setOf({}), setOf({ key: 2 }), setOf({ model: 'n' }), setOf({})]).toEqual([5, 5, 5, 5]);
  expect([setOf({ tagSet: 6 }), setOf({ key: 3 }), setOf({ model: 'o' })]).toEqual(Array(3).fill(OTHER_TAG_SET));
  expect([setOf({ tagSet: NO_TAG_SET, key: 4 }), setOf({ company: 2, key: 9 })]).toEqual([NO_TAG_SET, 5]);
  expect([setOf({ key: 2 }), setOf({ key: 3 }, NOW_MS + DAY_MS)]).toEqual([5, 5]);
});

test('while the store is unavailable, messages count as others and are not refused', async () => {
  const broken = () => Promise.reject(new Error('the disk is full'));
  const sets = new TagSets({ findTagSet: broken, addTagSet: broken });
  expect(await sets.find(1, team('a'), '', NOW_MS)).toBe(OTHER_TAG_SET);
});
