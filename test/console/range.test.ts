// The time ranges of the console: what each name covers, custom ranges in the address, and the range that one is compared with.

import { expect, test } from 'bun:test';
import {
  comparedRanges,
  describeRange,
  monthOfRange,
  precedingRange,
  rangeLabels,
  rangeOf,
  rangeOfBucket,
  rangeOfDay,
  rangeOfMonth,
  rangeQuery,
  rangeText,
  stepMs,
} from '../../console/range.ts';
import operations from '../../src/commands/operations.json';
import { projectFiles, readText } from '../sources.ts';

const NOW_MS = Date.parse('2026-11-22T17:45:12.345Z');
const MINUTE_MS = 60_000;

const queryOf = (text: string | undefined, nowMs = NOW_MS) => rangeQuery(rangeOf(text, nowMs));

test('named ranges consist of whole minutes, hours or days in UTC, the current one included', () => {
  expect(queryOf('1h')).toEqual({ since: '2026-11-22T16:46:00.000Z' });
  expect(queryOf('24h')).toEqual({ since: '2026-11-21T18:00:00.000Z' });
  expect(queryOf('7d')).toEqual({ since: '2026-11-16T00:00:00.000Z' });
  expect(queryOf('30d')).toEqual({ since: '2026-10-24T00:00:00.000Z' });
  expect(queryOf('90d')).toEqual({ since: '2026-08-25T00:00:00.000Z' });
  expect(queryOf('365d')).toEqual({ since: '2025-11-23T00:00:00.000Z' });
  expect(queryOf('month')).toEqual({ since: '2026-11-01T00:00:00.000Z' });
  expect(queryOf('last_month')).toEqual({ since: '2026-10-01T00:00:00.000Z', until: '2026-10-31T23:59:59.999Z' });
  // At the first moment of a day, the day counts.
  expect(queryOf('7d', Date.parse('2026-11-22'))).toEqual({ since: '2026-11-16T00:00:00.000Z' });
  expect(queryOf('last_month', Date.parse('2027-01-01'))['since']).toBe('2026-12-01T00:00:00.000Z');
});

test('no chart has more buckets than the service returns', () => {
  const texts = [...Object.keys(rangeLabels), '2020-01-01..', '2020-01-01..2026-01-01'];
  for (let minutes = 1; minutes < 4 * 24 * 60; minutes += 7) texts.push(rangeText(NOW_MS - minutes * MINUTE_MS, null));
  for (const text of texts) {
    const { sinceMs, untilMs, step } = rangeOf(text, NOW_MS);
    expect([text, ((untilMs ?? NOW_MS) - sinceMs) / stepMs[step] < 400.01]).toEqual([text, true]);
  }
});

test('a custom range is in the address as two times, of which the second does not count', () => {
  const text = rangeText(Date.parse('2026-11-20T05:45Z'), Date.parse('2026-11-21T05:45Z'));
  expect(text).toBe('2026-11-20T05:45Z..2026-11-21T05:45Z');
  expect(queryOf(text)).toEqual({ since: '2026-11-20T05:45:00.000Z', until: '2026-11-21T05:44:59.999Z' });
  expect(rangeOf(text, NOW_MS)).toMatchObject({ name: 'custom', text, step: 'hour' });
  expect(queryOf('2026-11-20T05:45:01.250Z..')).toEqual({ since: '2026-11-20T05:45:01.250Z' });
  expect(queryOf(rangeOfDay('2026-11-01'))).toEqual({
    since: '2026-11-01T00:00:00.000Z',
    until: '2026-11-01T23:59:59.999Z',
  });
  expect(queryOf(rangeOfMonth('2026-02'))).toEqual({
    since: '2026-02-01T00:00:00.000Z',
    until: '2026-02-28T23:59:59.999Z',
  });
});

test('a text in the address that is no range means the default one', () => {
  const usual = queryOf('7d');
  for (const text of [
    undefined,
    '',
    'week',
    'toString',
    '..',
    '..2026-11-01',
    'x..y',
    '2026-11-02..2026-11-01',
    '2027-01-01..',
  ])
    expect([text, queryOf(text)]).toEqual([text, usual]);
});

test('a bucket of a chart is a range, cut to that of the chart', () => {
  const range = rangeOf('2026-11-20T05:45Z..2026-11-21T05:45Z', NOW_MS);
  expect(rangeOfBucket(range, '2026-11-20T05:00:00.000Z', stepMs.hour)).toBe('2026-11-20T05:45Z..2026-11-20T06:00Z');
  expect(rangeOfBucket(range, '2026-11-20T06:00:00.000Z', stepMs.hour, 2)).toBe('2026-11-20T06:00Z..2026-11-20T08:00Z');
  expect(rangeOfBucket(range, '2026-11-21T05:00:00.000Z', stepMs.hour)).toBe('2026-11-21T05:00Z..2026-11-21T05:45Z');
});

test('the month of a range is that of its last moment that has passed', () => {
  const monthOf = (text: string) => monthOfRange(rangeOf(text, NOW_MS), NOW_MS);
  expect(['7d', 'month', 'last_month', rangeOfMonth('2026-02')].map(monthOf)).toEqual([
    ...['2026-11', '2026-11', '2026-10', '2026-02'],
  ]);
  expect(['2026-10-31..2026-11-01', '2026-10-31..', '2026-11-20..2027-01-01'].map(monthOf)).toEqual([
    ...['2026-10', '2026-11', '2026-11'],
  ]);
});

test('a range is compared with as many whole steps directly before it', () => {
  const compared = (text: string, nowMs = NOW_MS) => {
    const ranges = comparedRanges(rangeOf(text, nowMs), nowMs);
    const iso = (ms: number) => new Date(ms).toISOString().slice(0, 16);
    return ranges && [ranges.over, ranges.before].map(({ sinceMs, untilMs }) => `${iso(sinceMs)} ${iso(untilMs)}`);
  };
  expect(compared('7d')).toEqual(['2026-11-16T00:00 2026-11-22T00:00', '2026-11-09T00:00 2026-11-15T00:00']);
  expect(compared('24h')).toEqual(['2026-11-21T18:00 2026-11-22T17:00', '2026-11-20T18:00 2026-11-21T17:00']);
  expect(compared('month')).toEqual(['2026-11-01T00:00 2026-11-22T00:00', '2026-10-01T00:00 2026-10-22T00:00']);
  expect(compared('last_month')).toEqual(['2026-10-01T00:00 2026-11-01T00:00', '2026-09-01T00:00 2026-10-01T00:00']);
  expect(compared('2026-11-20T05:45Z..2026-11-20T07:45Z')).toEqual([
    '2026-11-20T05:45 2026-11-20T07:45',
    '2026-11-20T03:45 2026-11-20T05:45',
  ]);
  expect(compared('month', Date.parse('2026-11-01T10:00Z'))).toBeNull();
});

test('the margin of a range is compared with a time before it that is exactly as long', () => {
  const preceding = (text: string) => {
    const { sinceMs, untilMs } = precedingRange(rangeOf(text, NOW_MS), NOW_MS);
    return [sinceMs, untilMs].map((ms) => new Date(ms).toISOString().slice(0, 16));
  };
  const passedMs = NOW_MS - Date.parse('2026-11-22');
  const later = (day: string) => new Date(Date.parse(day) + passedMs).toISOString().slice(0, 16);
  expect(preceding('7d')).toEqual(['2026-11-09T00:00', later('2026-11-15')]);
  expect(preceding('month')).toEqual(['2026-10-01T00:00', later('2026-10-22')]);
  expect(preceding('last_month')).toEqual(['2026-09-01T00:00', '2026-10-01T00:00']);
  expect(preceding('2026-11-20T05:45Z..2026-11-20T07:45Z')).toEqual(['2026-11-20T03:45', '2026-11-20T05:45']);
});

test('a range says which days in UTC it covers, or its times in the zone', () => {
  const described = (text: string, zone: string) => describeRange(rangeOf(text, NOW_MS), NOW_MS, zone);
  expect(described('7d', 'America/New_York')).toBe('Nov 16 – Nov 22 (UTC)');
  expect(described('2026-11-01..2026-11-02', 'Asia/Kathmandu')).toBe('Nov 1 (UTC)');
  expect(described('24h', 'Asia/Kathmandu')).toMatch(/^Nov 21, 11:45.PM – now \(Kathmandu time\)$/);
});

/** The latest rows, whatever the range. */
const LATEST = ['console/features/destinations/show.tsx'];

test('every page that lists rows of a time takes the range of the console', () => {
  const ofRange = Object.values(operations).flatMap(({ path, isList, flags }) =>
    isList && 'since' in flags ? [path] : [],
  );
  expect(ofRange).toContain('/events');
  const lists = projectFiles().flatMap((file) => {
    const text = /^console\/.*\.tsx$/.test(file) && !LATEST.includes(file) ? (readText(file) ?? '') : '';
    const listed = [...text.matchAll(/useList\('([^']+)'/g)].map(([, path = '']) => path);
    return listed.filter((path) => ofRange.includes(path)).map((path) => ({ path, hasRange: /useRange\(/.test(text) }));
  });
  expect(lists.filter(({ hasRange }) => !hasRange)).toEqual([]);
  expect(new Set(lists.map(({ path }) => path))).toEqual(new Set(ofRange));
});
