// Draws the first content of a page while the libraries load, from its first answer, or as first-pages.tsx rendered it when the
// console was built, and requests what else the page needs. The page replaces it.

import type { MeShape } from '../src/admin-api/shapes.ts';
import { formatCount } from './figures.ts';
import { type Cell, type FirstPage, type Form, firstPageName, firstPages } from './first-table.ts';
import { outcomeLabels } from './labels.ts';
import { formatMoney, formatRequestMoney } from './money.ts';
import { monthOfRange, precedingRange, rangeOf, rangeQuery, startOf, type TimeRange } from './range.ts';
import { deviceZone, formatMoment, formatUtcDate, formatUtcMonth } from './times.ts';

/** Requests a path of the admin API before the page does, and keeps the answer for it. */
type Ask = (address: string) => Promise<Response>;

const moment = (at: string) => formatMoment(at, Date.now(), zone());
const forms = {
  text: String,
  count: (value: string) => formatCount(Number(value)),
  money: formatMoney,
  cost: formatRequestMoney,
  moment,
  precise: (at: string) => formatMoment(at, Date.now(), zone(), true),
  date: formatUtcDate,
  word: (word: string) => word.charAt(0).toUpperCase() + word.slice(1).replaceAll('_', ' '),
  outcome: (value: string) => outcomeLabels[value as keyof typeof outcomeLabels],
} as const satisfies Record<Form, (value: string) => string>;

const STORED_TIMES = 'turnpike-times';

function zone(): string {
  try {
    if (window.localStorage.getItem(STORED_TIMES) === 'utc') return 'UTC';
  } catch {} // a browser that stores nothing
  return deviceZone();
}

const coverStyles = `
.early-cover {
  position: fixed;
  inset: 0;
  z-index: 300;
  background: light-dark(#fff, #242424);
  overflow: hidden;
}
`;

const styles = `
.early h1 {
  margin: 0 0 20px;
  color: light-dark(#000, #c9c9c9);
  font-size: 26px;
  font-weight: 650;
  line-height: 1.35;
}
.early :is(table, dl) {
  color: light-dark(#000, #c9c9c9);
  font-size: 14px;
}
.early table {
  width: 100%;
  border-collapse: collapse;
}
.early :is(th, td) {
  padding: 8px 16px;
  border-bottom: 1px solid light-dark(#dee2e6, #424242);
  text-align: left;
}
.early dl {
  display: grid;
  grid: auto / max-content 1fr;
  gap: 6px 16px;
}
.early dd {
  margin: 0;
}
`;

/** Draws the first content of a page into the frame. Resolves once it is seen, or has nothing to wait for. */
export async function showFirst(address: string, ask: Ask, me: Promise<Response>, drawn: string): Promise<void> {
  const patterns = Object.keys(firstPages).filter((pattern) => placesOf(address, pattern) !== null);
  const pattern = (patterns.includes(address) ? address : patterns[0]) ?? ''; // "/keys/new" is no "/keys/$keyId"
  // With filters, the page requests something else.
  const { range, ...filters } = Object.fromEntries(new URLSearchParams(location.search));
  const page = firstPages[pattern];
  if (page === undefined || Object.keys(filters).some((name) => !page.takes?.includes(name))) return;
  const drawing = page.path === undefined ? fetch(`/console/${firstPageName(pattern, drawn)}`) : null;
  const rows = page.rows === undefined ? null : import('./first-rows.ts');
  const { ok, user } = await readUser(me);
  const frame = document.querySelector('.early-page');
  if (!ok || frame === null) return;
  const times = rangeOf(range, Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS);
  const given = Object.entries(filters).map(([name, value]) => [name, encodeURIComponent(value)]);
  const places = { accountId: user.account?.id ?? '', ...Object.fromEntries(given), ...placesOf(address, pattern) };
  const fill = (text: string) => text.replace(/\$(\w+)/g, (_, place: string) => places[place] ?? '');
  const request = (path: string) => ask(`/api/v1${asPageRequests(fill(fillTimes(path, times)))}`);
  const askOthers = () => page.others?.forEach((path) => void request(path).catch(() => {}));
  if (drawing !== null) {
    const html: string | undefined = (await (await drawing).json())[user.role];
    if (html === undefined) return; // the role does not see the page
    askOthers();
    return drawPage(frame, html);
  }
  if (page.path === undefined || fill(page.path).includes('=&')) return; // what it shows is not in the address
  const title = decodeURIComponent(fill(page.title.replace('MONTH', formatUtcMonth(monthOfRange(times, Date.now())))));
  if (!title.includes('{')) draw(frame, title, []);
  const answer = await request(page.path);
  if (!answer.ok) return;
  const read: unknown = await answer.clone().json();
  if ((memberOf(read, 'data') as unknown[] | undefined)?.length !== 0) askOthers();
  const shown = title.replace(/\{([\w.|]+)\}/g, (_, members: string) => firstOf(read, members.split('|')));
  const derived = page.rows === undefined ? null : ((await rows)?.[page.rows](read) ?? null);
  draw(frame, shown, contentOf(read, derived, page, decodeURIComponent(fill(page.rowNamed ?? ''))));
}

/** With its parameters encoded as those of a form. */
function asPageRequests(path: string): string {
  const [at, query] = path.split('?');
  return query === undefined ? path : `${at}?${new URLSearchParams(query)}`;
}

async function readUser(me: Promise<Response>): Promise<{ ok: boolean; user: MeShape }> {
  const answer = (await me).clone();
  return { ok: answer.ok, user: await answer.json() };
}

function contentOf(
  read: unknown,
  derived: readonly object[] | null,
  { cells = [], empty, rowNamed, leavesOut, isObject }: FirstPage,
  name: string,
): Element[] {
  const rows = (derived ?? memberOf(read, 'data')) as readonly { name: string }[] | undefined;
  if (rows === undefined || isObject) return orEmpty(factsOf(read, cells), empty);
  if (rowNamed !== undefined) return factsOf(rows.find((row) => row.name === name) ?? null, cells);
  const unfolded = rows.filter((row) => !leavesOut?.test(row.name));
  const shown = unfolded.length > 0 ? unfolded : rows;
  return orEmpty(shown.length === 0 ? [] : tableOf(shown, cells), empty);
}

function orEmpty(content: Element[], empty: string | undefined): Element[] {
  return content.length > 0 || empty === undefined ? content : [element('p', empty)];
}

/** The values of the placeholders of "/keys/$keyId"; null for another page. */
function placesOf(address: string, pattern: string): Record<string, string> | null {
  const [parts, wanted] = [address.split('/'), pattern.split('/')];
  const isIt = parts.length === wanted.length && wanted.every((one, at) => one.startsWith('$') || one === parts[at]);
  return isIt ? Object.fromEntries(wanted.map((one, at) => [one.slice(1), parts[at] ?? ''])) : null;
}

function fillTimes(path: string, times: TimeRange): string {
  const query = (of: TimeRange) => new URLSearchParams(rangeQuery(of)).toString();
  const days = { ...times, sinceMs: startOf(times.sinceMs, 'day') };
  const { since, until = since } = rangeQuery(precedingRange(times, startOf(Date.now(), 'minute')));
  return path
    .replace('RANGE', query(times))
    .replace('DAYS', query(days))
    .replace('BEFORE', new URLSearchParams({ previous_since: since, previous_until: until }).toString())
    .replace('MONTH', monthOfRange(times, Date.now()))
    .replace('STEP', times.step);
}

const MINUTE_MS = 60_000;

function memberOf(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((found, name) => (found as Record<string, unknown> | null)?.[name], value);
}

/** The first of the members that is not empty. */
function firstOf(read: unknown, members: readonly string[]): string {
  return members.map((member) => String(memberOf(read, member) ?? '')).find((text) => text !== '') ?? '';
}

function textOf(row: unknown, [, member, form = 'text']: Cell): string {
  const value = memberOf(row, member);
  if (value === null || value === undefined) return '';
  return Array.isArray(value) ? value.join(', ') : forms[form](value as string);
}

const nonce = () => document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';

function addStyles(frame: Element, texts: string): void {
  frame.closest('.early')?.prepend(Object.assign(element('style', texts), { nonce: nonce() }));
}

/** Draws what console/first-pages.tsx rendered. The Content-Security-Policy allows no style attributes. */
function drawPage(frame: Element, html: string): void {
  const { content } = Object.assign(document.createElement('template'), { innerHTML: html });
  for (const style of content.querySelectorAll('style')) style.nonce = nonce();
  for (const one of content.querySelectorAll<HTMLElement>('[data-style]'))
    one.style.cssText = one.dataset['style'] ?? '';
  addStyles(frame, coverStyles);
  frame.replaceChildren(content);
}

function draw(frame: Element, title: string, content: readonly Element[]): void {
  if (frame.querySelector('h1') === null) addStyles(frame, coverStyles + styles);
  const heading = element('h1', title);
  const rest = content.length > 0 ? content : [...frame.querySelectorAll('i')].slice(1);
  frame.replaceChildren(heading, ...rest);
}

function tableOf(rows: readonly unknown[], cells: readonly Cell[]): Element[] {
  const line = (tag: string, texts: readonly string[]) => element('tr', ...texts.map((text) => element(tag, text)));
  const head = line(
    'th',
    cells.map(([label]) => label),
  );
  return [
    element(
      'table',
      head,
      ...rows.slice(0, ROWS_MAX).map((row) =>
        line(
          'td',
          cells.map((cell) => textOf(row, cell)),
        ),
      ),
    ),
  ];
}

const ROWS_MAX = 20; // more than a screen shows

function factsOf(read: unknown, cells: readonly Cell[]): Element[] {
  const facts = cells.map((cell) => [cell[0], textOf(read, cell)] as const).filter(([, text]) => text !== '');
  return facts.length === 0
    ? []
    : [element('dl', ...facts.flatMap(([label, text]) => [element('dt', label), element('dd', text)]))];
}

function element(tag: string, ...content: (string | Element)[]): Element {
  const made = document.createElement(tag);
  made.append(...content);
  return made;
}
