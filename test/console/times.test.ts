// Times and days in zones whose clocks are changed, also at midnight.

import { describe, expect, test } from 'bun:test';
import { KNOWN } from '../../console/features/events/event-text.tsx';
import {
  formatMoment,
  formatRelative,
  formatTime,
  isoDay,
  momentOf,
  nameOfZone,
  startOfDay,
  wallText,
} from '../../console/times.ts';
import { showTime } from '../../src/base/clock.ts';

const endOfDay = (day: string, zone: string) =>
  startOfDay(new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10), zone);
const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
const STEP_MS = 7 * 3_600_000;
const DAY_MS = 86_400_000;

test('a day begins at midnight of its zone', () => {
  const days: [string, string, string, string][] = [
    ['2026-11-22', 'UTC', '2026-11-22T00:00:00.000Z', '2026-11-23T00:00:00.000Z'],
    ['2026-11-22', 'America/New_York', '2026-11-22T05:00:00.000Z', '2026-11-23T05:00:00.000Z'],
    ['2026-11-22', 'Asia/Kathmandu', '2026-11-21T18:15:00.000Z', '2026-11-22T18:15:00.000Z'],
    ['2026-11-22', 'Pacific/Auckland', '2026-11-21T11:00:00.000Z', '2026-11-22T11:00:00.000Z'],
    ['2026-12-31', 'America/New_York', '2026-12-31T05:00:00.000Z', '2027-01-01T05:00:00.000Z'],
    // Clocks are changed during these days: 23 and 25 hours.
    ['2026-03-08', 'America/New_York', '2026-03-08T05:00:00.000Z', '2026-03-09T04:00:00.000Z'],
    ['2026-11-01', 'America/New_York', '2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z'],
    // Clocks went from midnight to 1 AM: the day has no midnight.
    ['2018-11-04', 'America/Sao_Paulo', '2018-11-04T03:00:00.000Z', '2018-11-05T02:00:00.000Z'],
    // Clocks went back from midnight, and from 1 AM to a second midnight.
    ['2018-02-18', 'America/Sao_Paulo', '2018-02-18T03:00:00.000Z', '2018-02-19T03:00:00.000Z'],
    ['2026-11-01', 'America/Havana', '2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z'],
    // Samoa skipped a day: it has no hours.
    ['2011-12-30', 'Pacific/Apia', '2011-12-30T10:00:00.000Z', '2011-12-30T10:00:00.000Z'],
  ];
  for (const [day, zone, from, to] of days)
    expect([day, zone, iso(startOfDay(day, zone)), iso(endOfDay(day, zone))]).toEqual([day, zone, from, to]);
});

test('what is not a day or a time is ignored', () => {
  for (const text of ['', 'yesterday', '2026-02-30', '2026-13-01', '2026-11-22T00:00', undefined])
    expect(startOfDay(text, 'Asia/Kathmandu')).toBeNull();
  for (const text of ['', '2026-11-22', '2026-11-22T24:00', '2026-02-30T10:00'])
    expect(momentOf(text, 'America/New_York')).toBeNull();
  expect([wallText('nonsense', 'UTC'), wallText(undefined, 'UTC')]).toEqual(['', '']);
});

describe('times of a whole year', () => {
  const zones = [
    'UTC',
    'America/New_York',
    'Asia/Kathmandu',
    'Pacific/Auckland',
    'Africa/Cairo',
    'Australia/Lord_Howe',
  ];
  for (const zone of zones)
    test(`are within their days in ${zone}, and survive the round trip through a field`, () => {
      let repeated = 0;
      for (let ms = Date.UTC(2026, 0); ms < Date.UTC(2027, 0); ms += STEP_MS) {
        const day = isoDay(ms, zone);
        expect(ms).toBeGreaterThanOrEqual(startOfDay(day, zone) ?? 0);
        expect(ms).toBeLessThan(endOfDay(day, zone) ?? 0);
        // When clocks go back, a time occurs twice, and the first one is meant.
        const back = momentOf(wallText(ms, zone), zone) ?? 0;
        if (back !== ms) repeated++;
        expect(wallText(back, zone)).toBe(wallText(ms, zone));
      }
      expect(repeated).toBeLessThanOrEqual(1);
    });
});

test('a time that clocks skip or show twice is one moment', () => {
  expect(iso(momentOf('2026-03-08T02:30', 'America/New_York'))).toBe('2026-03-08T07:30:00.000Z');
  expect(iso(momentOf('2026-11-01T01:30', 'America/New_York'))).toBe('2026-11-01T05:30:00.000Z');
  expect(wallText('2026-11-23T04:26:59.999Z', 'America/New_York')).toBe('2026-11-22T23:26');
});

test('a zone is named by its city, and one without a city by its offset', () => {
  const names: [string, string][] = [
    ['UTC', 'UTC'],
    ['Etc/UTC', 'UTC'],
    ['Europe/London', 'London time'],
    ['America/New_York', 'New York time'],
    ['America/Argentina/Buenos_Aires', 'Buenos Aires time'],
    ['Asia/Katmandu', 'Kathmandu time'],
    ['Etc/GMT+5', 'UTC−5'],
  ];
  for (const [zone, name] of names) expect([zone, nameOfZone(zone)]).toEqual([zone, name]);
});

test('a moment is shown in the zone, with the year in a row only if it is another one', () => {
  const at = '2026-01-01T03:00:00.000Z';
  const nowMs = Date.parse('2026-11-22T12:00:00Z');
  expect(formatTime(at, 'short', 'America/New_York')).toContain('Dec 31, 2025');
  expect(formatMoment(at, nowMs, 'America/New_York')).toContain('2025');
  expect(formatMoment(at, nowMs, 'UTC')).not.toContain('2026');
  expect(formatRelative('2026-11-22T10:00:00Z', nowMs)).toBe('2 hours ago');
  expect(formatRelative(at, nowMs)).toBeNull();
});

test('the times in sentences of events are found, so that they are shown in the zone of the user', () => {
  const at = '2026-11-30T14:04:00.000Z';
  const found = `It failed from ${showTime(at)} on.`.split(KNOWN)[1] ?? '';
  expect(new Date(found).toISOString()).toBe(at);
});
