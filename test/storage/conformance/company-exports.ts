// Files of a company whose accounts pay from above, or from wallets of their own: each message once, and the sums of statements.

import { expect, test } from 'bun:test';
import { tagSetOf, tagsText } from '../../../src/accounts/accounts.ts';
import { parseId } from '../../../src/base/ids.ts';
import { parseUsd } from '../../../src/base/money.ts';
import { firstDocuments } from '../../../src/catalog/catalog.ts';
import { type ExportQuestion, makeFile, type Place } from '../../../src/exports/exports.ts';
import { checkLedger } from '../../../src/ledger/ledger.ts';
import { readCsv } from '../../contract/admin-api/exports/read-csv.ts';
import {
  errorOf,
  type Installation,
  type Json,
  makeAccount,
  makeKey,
  makeNode,
  NOW_MS,
  useKey,
} from '../../contract/admin-api/installation.ts';
import type { OpenStores } from '../../money/ledger/workbench.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { setBounds } from '../../support/set-bounds.ts';

type Rows = Record<string, string>[];

const MONTHS = ['2026-11', '2026-12'];
const nano = (amount: unknown) => BigInt(parseUsd(String(amount)) ?? Number.NaN);
const sumOf = (rows: Rows, column: string) => rows.reduce((sum, row) => sum + nano(row[column]), 0n);
const countOf = (rows: Rows, column: string) => rows.reduce((sum, row) => sum + Number(row[column]), 0);

class Company implements AsyncDisposable {
  readonly installation: Installation;
  readonly #close: () => Promise<void>;
  /** "company", "shared" and "team" below it, which pay from above, "own" with a wallet, and "alone". */
  accounts: Record<string, Json> = {};

  constructor(installation: Installation, close: () => Promise<void>) {
    this.installation = installation;
    this.#close = close;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }

  async download(query: string, token?: string): Promise<Rows> {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const { status, body } = await this.installation.ask('GET', `/api/v1/exports/file?${query}`, undefined, headers);
    if (status !== 200) throw new Error(errorOf(body).message);
    return readCsv(body as unknown as string);
  }

  async statement(name: string, month: string): Promise<Json> {
    const path = `/api/v1/accounts/${this.idOf(name)}/statement?month=${month}`;
    return (await this.installation.ask('GET', path)).body;
  }

  async totals(name: string, query: string): Promise<Json> {
    const path = `/api/v1/usage/totals?account=${this.idOf(name)}&below=true&${query}`;
    return (await this.installation.ask('GET', path)).body;
  }

  async ownerOf(name: string): Promise<string> {
    const { body } = await this.installation.ask('POST', '/api/v1/tokens', { role: 'owner', account: this.idOf(name) });
    return String(body['token']);
  }

  idOf(name: string): string {
    return String(this.accounts[name]?.['id']);
  }
}

/** November with refunds in it, and December with refunds of November's messages, to the account that paid. */
async function openCompany(open: OpenStores): Promise<Company> {
  const clock = manualClock(NOW_MS);
  const opened = await open(clock);
  await opened.stores.catalog.saveCatalog(firstDocuments(['sandbox-echo'], {}), [], noAuditContext);
  const installation = (await makeNode(clock, opened.stores)) as unknown as Installation;
  const company = new Company(installation, async () => {
    const report = checkLedger(await opened.sums());
    await opened.close();
    expect(report.faults).toEqual([]);
  });
  const { accounts } = company;
  const add = async (name: string, parent: string | null, members: Json) => {
    const place = parent === null ? {} : { parent: company.idOf(parent) };
    accounts[name] = await makeAccount(installation, { name, ...place, ...members });
  };
  const fromParent = { pays_from: 'parent', credit: undefined };
  await add('company', null, { credit: '20.00' });
  await add('shared', 'company', fromParent);
  await add('team', 'shared', fromParent);
  await add('own', 'company', { pays_from: 'own', credit: '5.00' });
  await add('alone', null, {});
  await addMonths(company);
  return company;
}

async function addMonths(company: Company): Promise<void> {
  const { installation, accounts } = company;
  const { ask, clock } = installation;
  const keys = new Map<string, Json>();
  const send = async (name: string, messages: number, facts: object = {}) => {
    const key = keys.get(name) ?? (await makeKey(installation, accounts[name]?.['id'], { name: `key of ${name}` }));
    keys.set(name, key);
    return await useKey(installation, key, messages, facts);
  };
  const refund = (id: string | undefined, amount?: string) =>
    ask('POST', `/api/v1/usage/${id}/refunds`, amount === undefined ? {} : { amount });
  await send('company', 2);
  const red = await tagged(company, 'shared', { team: 'red', '=x': 'y,"z' });
  const attributed = { session: 'run-1', agent: 'planner', ...red };
  const [first, second] = await send('shared', 3, { cost: 1_234_567, ...attributed });
  await send('shared', 1, {
    cost: 0,
    outcome: 'failed',
    status: 500,
    ...(await tagged(company, 'shared', { team: 'blue' })),
  });
  const ofTeamRed = await tagged(company, 'team', { team: 'red' });
  const ofUnits = { units: { counts: { images: 3 }, image: null }, unitCosts: { images: 500_001 } };
  const [ofTeam] = await send('team', 2, { model: 'big', cost: 777_777, ...ofTeamRed, ...ofUnits });
  const [ofOwn] = await send('own', 3, { cost: 3 });
  await send('alone', 2);
  await refund(second, '0.000000007');
  clock.advance(Date.UTC(2026, 11) - clock.nowMs());
  for (const id of [first, ofTeam, ofOwn]) await refund(id);
  for (const name of Object.keys(accounts)) await send(name, 1, { cost: 1_111 });
}

/** The tags of a message, and the set of them that the daily totals of the account distinguish. */
async function tagged({ installation, accounts }: Company, name: string, tags: Record<string, string>) {
  const account = parseId('acct', String(accounts[name]?.['id'])) as number;
  const text = tagsText(tags);
  const set = { account, monthMs: Date.UTC(2026, 10), id: tagSetOf(text), text };
  await installation.stores.tagSets.addTagSet(set, 10);
  return { tags, tagSet: set.id };
}

export function companyExportConformance(open: OpenStores): void {
  sumConformance(open);
  tagConformance(open);
  viewConformance(open);
  continuationConformance(open);
  retentionConformance(open);
  droppedConformance(open);
}

function sumConformance(open: OpenStores): void {
  test('a file of records has each message once, under the account that sent it, with the one that paid', async () => {
    using _ = setBounds({ exportPageRows: 2 });
    await using company = await openCompany(open);
    const rows = await company.download('kind=records&month=2026-11');
    expect([rows.length, new Set(rows.map((row) => row['request_id'])).size]).toEqual([13, 13]);
    const counts = Object.entries(Object.groupBy(rows, (row) => `${row['account_name']} ${row['payer_name']}`));
    expect(
      Object.fromEntries(counts.map(([name, some = []]) => [name, [some.length, sumOf(some, 'balance_paid')]])),
    ).toEqual({
      'company company': [2, 2_000_000n],
      'shared company': [4, 3_703_701n],
      'team company': [2, 1_555_554n],
      'own own': [3, 9n],
      'alone alone': [2, 2_000_000n],
    });
    const shared = rows.find((row) => row['session'] !== '');
    expect(shared).toMatchObject({ session: 'run-1', agent: 'planner', payer: company.idOf('company'), person: '' });
    expect(JSON.parse(shared?.['tags'] ?? '')).toEqual({ team: 'red', '=x': 'y,"z' });
  });

  test('files of an account and those below it add up to its statement, by any dimension', async () => {
    using _ = setBounds({ exportPageRows: 2 });
    await using company = await openCompany(open);
    const owner = await company.ownerOf('company');
    for (const month of MONTHS) {
      const whole = (await company.statement('company', month))['usage_with_below'] as Json;
      const records = await company.download(`kind=records&month=${month}&below=true`, owner);
      expect([records.length, sumOf(records, 'cost')]).toEqual([whole['messages'] as number, nano(whole['cost'])]);
      for (const by of ['account', 'payer', 'key', 'day', 'account,payer', 'person', 'tag&tag_name=team']) {
        const asked = `kind=costs&month=${month}&account=${company.idOf('company')}&below=true&by=${by}`;
        const rows = await company.download(asked);
        expect([by, countOf(rows, 'messages')]).toEqual([by, whole['messages'] as number]);
        expect([by, countOf(rows, 'input_tokens')]).toEqual([by, whole['input_tokens'] as number]);
        const totals = await company.download(`kind=costs&month=${month}&below=true&by=payer`, owner);
        expect([by, sumOf(rows, 'balance_paid')]).toEqual([by, sumOf(totals, 'balance_paid')]);
        expect([by, sumOf(rows, 'refunded')]).toEqual([by, sumOf(totals, 'refunded')]);
      }
    }
  });

  test('sums by payer equal its journal, those of FOCUS too', async () => {
    using _ = setBounds({ exportPageRows: 2 });
    await using company = await openCompany(open);
    for (const month of MONTHS) {
      const costs = await company.download(`kind=costs&month=${month}&by=payer`);
      const focus = await company.download(`kind=focus&month=${month}`);
      expect(new Set(costs.map((row) => row['payer_name']))).toEqual(new Set(['company', 'own', 'alone']));
      for (const name of Object.keys(company.accounts)) {
        const statement = await company.statement(name, month);
        const id = company.idOf(name);
        const [row] = costs.filter(({ payer }) => payer === id);
        for (const [column, member] of Object.entries({
          balance_paid: 'used',
          refunded: 'refunded',
          corrected: 'corrected',
        }))
          expect([name, nano(row?.[column] ?? 0)]).toEqual([name, nano(statement[member])]);
        const change = nano(statement['closing_balance']) - nano(statement['opening_balance']);
        const paidIn = (statement['entries'] as Json[]).filter(({ kind }) => kind === 'payment');
        const billed = focus.filter((one) => one['BillingAccountId'] === id);
        expect(sumOf(billed, 'BilledCost')).toBe(paidIn.reduce((sum, one) => sum + nano(one['change']), 0n) - change);
      }
    }
  });
}

function tagConformance(open: OpenStores): void {
  test('a statement by tag adds up to the sums of all accounts, and to the usage totals of each value', async () => {
    await using company = await openCompany(open);
    const used = ['messages', 'input_tokens', 'output_tokens'] as const;
    for (const month of MONTHS)
      for (const name of Object.keys(company.accounts)) {
        const statement = await company.statement(name, `${month}&tag_name=team`);
        const [rows, whole] = [statement['by_tag'] as Json[], statement['usage_with_below'] as Json];
        const parts = [statement['usage'] as Json, ...(statement['below'] as Json[])];
        for (const sums of [rows, parts]) {
          expect(sums.reduce((sum, row) => sum + nano(row['cost']), 0n)).toBe(nano(whole['cost']));
          for (const count of used)
            expect(sums.reduce((sum, row) => sum + Number(row[count]), 0)).toBe(Number(whole[count]));
        }
        const days = `since=${month}-01&until=${month}-31&group_by=tag&tag_name=team`;
        const { data } = await company.totals(name, month === '2026-11' ? days.replace('-31', '-30') : days);
        const costs = (data as Json[]).map(({ tag, cost, messages }) => ({ tag, cost, messages }));
        expect(rows.map(({ tag, cost, messages }) => ({ tag, cost, messages }))).toEqual(costs as never);
      }
    const november = await company.statement('company', '2026-11&tag_name=team');
    expect(november).toMatchObject({ tags: 3 });
    expect((november['by_tag'] as Json[]).map(({ tag, messages }) => [tag, messages])).toEqual([
      ['red', 5],
      [null, 5],
      ['blue', 1],
    ]);
    expect(await company.statement('company', '2026-11')).toMatchObject({ by_tag: [], tags: 0 });
  });
}

function viewConformance(open: OpenStores): void {
  test('an owner below sees the messages of the account and what was given back for them, not the payer’s other ones', async () => {
    using _ = setBounds({ exportPageRows: 2 });
    await using company = await openCompany(open);
    const owner = await company.ownerOf('shared');
    const [row, ...more] = await company.download('kind=costs&month=2026-12&by=account,payer', owner);
    expect(more).toEqual([]);
    expect(row).toMatchObject({
      account_name: 'shared',
      payer: '',
      payer_name: '',
      messages: '1',
      refunded: '0.001234567',
    });
    const focus = await company.download('kind=focus&month=2026-12', owner);
    expect(new Set(focus.map((one) => `${one['SubAccountName']} ${one['BillingAccountName']}`))).toEqual(
      new Set(['shared shared']),
    );
    expect(focus.map((one) => one['ChargeClass']).sort()).toEqual(['', 'Correction']);
    const below = await company.download('kind=costs&month=2026-12&by=account&below=true', owner);
    expect(below.map((one) => one['account_name']).sort()).toEqual(['shared', 'team']);
    await expect(company.download(`kind=costs&account=${company.idOf('company')}`, owner)).rejects.toThrow(
      'no account',
    );
  });

  test('costs by account have one row for each, and by tag one for each value', async () => {
    await using company = await openCompany(open);
    const rows = await company.download('kind=costs&month=2026-12&by=account');
    expect(rows.map((row) => [row['account_name'], row['messages'], row['refunded']]).sort()).toEqual([
      ['alone', '1', '0'],
      ['company', '1', '0'],
      ['own', '1', '0.000000003'],
      ['shared', '1', '0.001234567'],
      ['team', '1', '0.000777777'],
    ]);
    const tagged = await company.download('kind=costs&month=2026-11&by=tag&tag_name=Team');
    expect(tagged.map((row) => [row['tag'], row['messages']])).toEqual([
      ['', '7'],
      ['blue', '1'],
      ['red', '5'],
    ]);
    const focus = await company.download('kind=focus&month=2026-11');
    expect(new Set(focus.map((row) => row['Tags']))).toEqual(
      new Set(['', '{"=x":"y,\\"z","team":"red"}', '{"team":"red"}']),
    );
    await expect(company.download('kind=costs&by=tag')).rejects.toThrow('tag_name: is required to group by tag');
    await expect(company.download('kind=costs&by=key&tag_name=a')).rejects.toThrow('is only for the dimension tag');
  });
}

const reader = { account: null, below: false, reader: null };
const november = { sinceMs: Date.UTC(2026, 10), untilMs: Date.UTC(2026, 11) - 1 };

/** A file of November of all accounts, from a place on, and the place where the next one continues. */
async function readFile(company: Company, kind: 'records' | 'focus', from: Place | null, rowsMax: number) {
  const names = { installation: 'Turnpike', hidden: [] };
  const reading = { sources: company.installation.stores, names, requester: undefined };
  const more = { by: [], tagName: null, hasProviderCost: true };
  const question: ExportQuestion = { kind, format: 'csv', ...november, ...reader, ...more };
  const pieces: Uint8Array[] = [];
  let next: Place | null = null;
  for await (const piece of makeFile(reading, question, { from, rowsMax })) {
    pieces.push(piece.bytes);
    next = piece.next ?? null;
  }
  const text = Buffer.concat(pieces).toString();
  const header = text.slice(0, text.indexOf('\r\n') + 2);
  return { header, rows: text.slice(header.length), next };
}

function continuationConformance(open: OpenStores): void {
  test('a file that continues another from any of its places has the bytes of the rest', async () => {
    await using company = await openCompany(open);
    for (const kind of ['records', 'focus'] as const)
      for (const exportPageRows of [1, 2, 5]) {
        using _ = setBounds({ exportPageRows });
        const whole = await readFile(company, kind, null, Number.POSITIVE_INFINITY);
        let rest = whole.rows;
        let files = 0;
        let place: Place | null = null;
        do {
          const from = place;
          expect((await readFile(company, kind, from, Number.POSITIVE_INFINITY)).rows).toBe(rest);
          const part = await readFile(company, kind, from, 1);
          expect(part.header).toBe(whole.header);
          expect(rest.startsWith(part.rows)).toBe(true);
          rest = rest.slice(part.rows.length);
          place = part.next;
          files++;
        } while (place !== null && files < 99);
        expect(rest).toBe('');
        expect(files).toBeGreaterThan(4);
      }
  });

  test('a place at any time within any account continues there, as those of earlier releases do', async () => {
    await using company = await openCompany(open);
    const whole = await readFile(company, 'records', null, Number.POSITIVE_INFINITY);
    const rows = readCsv(whole.header + whole.rows);
    const times = new Set(rows.map((row) => Date.parse(String(row['at']))));
    for (const name of Object.keys(company.accounts)) {
      const account = parseId('acct', company.idOf(name)) as number;
      for (const untilMs of times) {
        const isLater = (row: Record<string, string>) => {
          const id = parseId('acct', String(row['account'])) as number;
          return id === account ? Date.parse(String(row['at'])) <= untilMs : order.indexOf(id) > order.indexOf(account);
        };
        const order = [...new Set(rows.map((row) => parseId('acct', String(row['account'])) as number))];
        const { header, rows: found } = await readFile(company, 'records', { account, untilMs }, 99);
        expect(readCsv(header + found)).toEqual(rows.filter(isLater));
      }
    }
  });
}

function retentionConformance(open: OpenStores): void {
  test('where retention drops records, sums equal the statements: before, while and after they are dropped', async () => {
    using _ = setBounds({ exportPageRows: 2 });
    await using company = await openCompany(open);
    const { retention } = company.installation.stores;
    const sinceMs = Date.UTC(2026, 11);
    await retention.keepSince('usage', sinceMs);
    await expectStatements(company);
    using bound = setBounds({ rowsDroppedAtOnce: 3 });
    await retention.forget('usage_records', sinceMs);
    await expectStatements(company);
    bound[Symbol.dispose]();
    while ((await retention.countForgotten('usage_records', sinceMs)) > 0)
      await retention.forget('usage_records', sinceMs);
    await expectStatements(company);
    expect((await company.download('kind=records&since=2026-11-01&until=2027-01-01')).length).toBe(5);
  });
}

function droppedConformance(open: OpenStores): void {
  test('a file ends if retention drops records of its time meanwhile, and none continues it', async () => {
    using _ = setBounds({ exportPageRows: 1 });
    await using company = await openCompany(open);
    const { stores } = company.installation;
    const reading = { sources: stores, names: { installation: 'Turnpike', hidden: [] }, requester: undefined };
    const question = { ...november, ...reader, kind: 'focus', format: 'csv', by: [], tagName: null } as const;
    const begun = makeFile(reading, { ...question, hasProviderCost: true });
    await begun.next();
    const { next } = await readFile(company, 'focus', null, 1);
    await stores.retention.keepSince('usage', Date.UTC(2026, 10, 10));
    await expect(Array.fromAsync(begun)).rejects.toThrow('Retention dropped records');
    await expect(readFile(company, 'focus', next, 99)).rejects.toThrow('Retention dropped records');
    const ofEarlierBuild = next === null ? null : { account: next.account, untilMs: next.untilMs };
    expect((await readFile(company, 'focus', ofEarlierBuild, 99)).rows).not.toBe('');
  });
}

/** A file of both months has the sums of their statements, per payer. */
async function expectStatements(company: Company): Promise<void> {
  const costs = await company.download('kind=costs&since=2026-11-01&until=2027-01-01&by=payer');
  for (const name of Object.keys(company.accounts)) {
    const [row] = costs.filter(({ payer }) => payer === company.idOf(name));
    const statements = await Promise.all(MONTHS.map((month) => company.statement(name, month)));
    for (const [column, member] of Object.entries({ balance_paid: 'used', refunded: 'refunded' })) {
      const stated = statements.reduce((sum, one) => sum + nano(one[member]), 0n);
      expect([name, column, nano(row?.[column] ?? 0)]).toEqual([name, column, stated]);
    }
  }
}
