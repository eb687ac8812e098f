// The rule by which times and days are shown and read: in one time zone for the whole console, that of the device or
// UTC. Pure: the zone is a parameter, an IANA name. Months of statements are always in UTC.

const DAY_MS = 86_400_000;
const MONTH_MS = 30 * DAY_MS;

const styles = {
  /** "Nov 22, 2026, 11:26 PM" */
  short: { year: 'numeric', month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' },
  /** "Nov 22, 2026, 11:26:05 PM" */
  precise: { year: 'numeric', month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', second: '2-digit' },
  /** "Nov 22, 11:26 PM" */
  moment: { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' },
  /** "Nov 22, 11:26:05 PM" */
  preciseMoment: { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', second: '2-digit' },
  /** "Sun 11:26 PM" */
  hour: { weekday: 'short', hour: 'numeric', minute: '2-digit' },
  /** "11:26 PM" */
  time: { hour: 'numeric', minute: '2-digit' },
  /** "Nov 22" */
  day: { month: 'short', day: 'numeric' },
  /** "Nov 22, 2026" */
  date: { year: 'numeric', month: 'short', day: 'numeric' },
  /** "November 2026" */
  month: { year: 'numeric', month: 'long' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

type TimeStyle = keyof typeof styles;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Shows a moment, in milliseconds or ISO 8601, in the form of the console's language. */
export function formatTime(at: number | string, style: TimeStyle, zone: string): string {
  const name = `${style} ${zone}`;
  const format = formats.get(name) ?? new Intl.DateTimeFormat('en-US', { ...styles[style], timeZone: zone });
  formats.set(name, format);
  return format.format(new Date(at));
}

/** How every moment is shown: without the current year, and with seconds where they matter. */
export function formatMoment(at: string, nowMs: number, zone: string, isPrecise = false): string {
  const isThisYear = isoDay(Date.parse(at), zone).slice(0, 4) === isoDay(nowMs, zone).slice(0, 4);
  if (isThisYear) return formatTime(at, isPrecise ? 'preciseMoment' : 'moment', zone);
  return formatTime(at, isPrecise ? 'precise' : 'short', zone);
}

/** Shows a whole UTC day, "2026-11-22" or its first moment, as "Nov 22". */
export function formatUtcDay(day: string): string {
  return formatTime(day, 'day', 'UTC');
}

/** The start of a step of a chart: days are in UTC. `isComplete` adds the day to a time. */
export function formatStep(at: string, step: string, zone: string, isComplete = false): string {
  return step === 'day'
    ? formatUtcDay(at)
    : formatTime(at, isComplete ? 'moment' : step === 'hour' ? 'hour' : 'time', zone);
}

/** Shows a whole UTC day, "2026-11-22" or one of its moments, as "Nov 22, 2026". */
export function formatUtcDate(day: string): string {
  return formatTime(day.slice(0, 10), 'date', 'UTC');
}

/** Shows a UTC month, "2026-11", as "November 2026". */
export function formatUtcMonth(month: string): string {
  return formatTime(`${month}-01`, 'month', 'UTC');
}

/** UTC months as options of a select. */
export function monthOptions(months: readonly string[]): { value: string; label: string }[] {
  return months.map((month) => ({ value: month, label: formatUtcMonth(month) }));
}

const relative = new Intl.RelativeTimeFormat('en-US', { numeric: 'auto' });
const steps: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', DAY_MS],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** "2 hours ago"; null for a time that is further away than a month. */
export function formatRelative(at: string, nowMs: number): string | null {
  const distanceMs = Date.parse(at) - nowMs;
  if (Math.abs(distanceMs) > MONTH_MS) return null;
  for (const [unit, unitMs] of steps)
    if (Math.abs(distanceMs) >= unitMs) return relative.format(Math.round(distanceMs / unitMs), unit);
  return 'just now';
}

/** The zone of the device. */
export function deviceZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** "New York time", "UTC", or "UTC−5" for a zone without a city. */
export function nameOfZone(zone: string): string {
  if (/^(?:Etc\/)?(?:UTC|UCT|GMT|Zulu|Universal)$/.test(zone)) return 'UTC';
  const city = zone.startsWith('Etc/') ? undefined : zone.split('/').slice(1).pop();
  return city === undefined ? offsetName(zone) : `${renamedCities[city] ?? city.replaceAll('_', ' ')} time`;
}

/** Browsers keep the former names of some zones. */
const renamedCities: Readonly<Record<string, string>> = {
  Calcutta: 'Kolkata',
  Katmandu: 'Kathmandu',
  Kiev: 'Kyiv',
  Rangoon: 'Yangon',
  Saigon: 'Ho Chi Minh City',
};

function offsetName(zone: string): string {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'shortOffset' }).formatToParts();
  const offset = parts.find(({ type }) => type === 'timeZoneName')?.value ?? zone;
  return offset.replace('GMT', 'UTC').replace('-', '−');
}

/** The day of a moment: "2026-11-22". */
export function isoDay(atMs: number, zone: string): string {
  return wallText(atMs, zone).slice(0, 10);
}

/** The first moment of a day "2026-11-22"; null for a day that no calendar has. */
export function startOfDay(day: string | undefined, zone: string): number | null {
  return /^\d{4}-\d{2}-\d{2}$/.test(day ?? '') ? momentOf(`${day}T00:00`, zone) : null;
}

/** The value of a datetime-local field: "2026-11-22T23:26"; empty for an invalid time. */
export function wallText(at: number | string | undefined, zone: string): string {
  const atMs = new Date(at ?? '').getTime();
  return Number.isNaN(atMs) ? '' : new Date(wallMs(atMs, zone)).toISOString().slice(0, 16);
}

/**
 * The moment at which clocks of the zone show "2026-11-22T23:26"; null for an invalid time. Of two such moments it is
 * the first one. A time that the clocks skip is read as if they had not been changed yet.
 */
export function momentOf(text: string, zone: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}$/.test(text)) return null;
  const shownMs = Date.parse(`${text}Z`);
  // Date.parse reads February 30 as March 2.
  if (Number.isNaN(shownMs) || new Date(shownMs).toISOString().slice(0, 16) !== text) return null;
  const [before, after] = [offsetMs(shownMs - DAY_MS, zone), offsetMs(shownMs + DAY_MS, zone)];
  const moments = [shownMs - before, shownMs - after].filter((ms) => wallMs(ms, zone) === shownMs);
  return moments.length === 0 ? shownMs - before : Math.min(...moments);
}

function offsetMs(atMs: number, zone: string): number {
  return wallMs(atMs, zone) - Math.floor(atMs / 1_000) * 1_000;
}

const wallFormats = new Map<string, Intl.DateTimeFormat>();

/** What clocks of the zone show, to the second, as if it were UTC. */
function wallMs(atMs: number, zone: string): number {
  const format = wallFormats.get(zone) ?? makeWallFormat(zone);
  wallFormats.set(zone, format);
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  const shown = new Date(0);
  shown.setUTCFullYear(part('year'), part('month') - 1, part('day'));
  shown.setUTCHours(part('hour'), part('minute'), part('second'));
  return shown.getTime();
}

function makeWallFormat(timeZone: string): Intl.DateTimeFormat {
  const two = '2-digit';
  return new Intl.DateTimeFormat('en-US-u-ca-iso8601-nu-latn', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: two, day: two, hour: two, minute: two, second: two },
  });
}
