// Finds incidents: gathers what is stored of requests, deliveries and tasks, and stores which problems begin, go on and end. Runs on the
// node that leads; what only a node itself sees is found by each.

import { exactNumber, parseWholeNumber } from '../base/checked-number.ts';
import { type Clock, DAY_MS } from '../base/clock.ts';
import { parseId } from '../base/ids.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { LAST_BACKUP } from '../events/events.ts';
import {
  type AffectedAccount,
  type Finding,
  facts,
  followIncidents,
  type Incident,
  type IncidentFacts,
  IncidentReports,
  judgeRefusals,
  judgeTraffic,
  judgeUpkeep,
  type ModelMargin,
  UPKEEP_EVENTS,
  type Upkeep,
  withEndings,
} from '../incidents/incidents.ts';
import { marginOfTotal, NO_FILTER } from '../reports/reports.ts';
import type { Stores } from '../storage/storage.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface WatchParts {
  stores: Pick<
    Stores,
    'incidents' | 'traffic' | 'events' | 'destinations' | 'exports' | 'mails' | 'usage' | 'ledger' | 'accounts'
  >;
  catalog(): Catalog;
  clock: Clock;
}

/** Figures that are read less often than incidents are looked for. */
interface Counted {
  atMs: number;
  known: Partial<IncidentFacts>;
}

export class IncidentWatch {
  readonly #parts: WatchParts;
  readonly #reports = new IncidentReports();
  readonly #counted = new Map<string, Counted>();
  #margins: { atMs: number; margins: readonly ModelMargin[] } | null = null;

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /** Throws store_unavailable. */
  async round(signal?: AbortSignal): Promise<void> {
    const { stores, clock } = this.#parts;
    const nowMs = clock.nowMs();
    const open = await this.#reportOpen(nowMs);
    const refused = await this.#findRefused(nowMs);
    const findings = [...(await this.#findFailing(open, nowMs)), ...refused, ...(await this.#findUpkeep(nowMs))];
    const over = await this.#listOver(open, refused, nowMs);
    if (signal?.aborted === true) return;
    const counted = await this.#countAffected(open, findings, nowMs);
    const changes = followIncidents(open, { findings: counted, over }, nowMs);
    await stores.incidents.changeIncidents(withEndings(changes, (one) => this.#reports.isReported(one), nowMs));
    if (changes.some((change) => 'begin' in change)) await this.#reportOpen(nowMs);
  }

  /** Returns the open ones, of whatever node. */
  async #reportOpen(nowMs: number): Promise<Incident[]> {
    const { incidents, events } = this.#parts.stores;
    const open = await incidents.listOpenIncidents();
    const opened = this.#reports.takeOpened(open, nowMs);
    if (opened.length > 0) await events.emit(opened);
    return open;
  }

  async #findFailing(open: readonly Incident[], nowMs: number): Promise<Finding[]> {
    const { stores, catalog } = this.#parts;
    const began = new Map(open.map(({ name, beganAtMs }) => [name, beganAtMs]));
    const sinceMs = Math.ceil((nowMs - bounds.routeHealthSeenMs) / HOUR_MS) * HOUR_MS;
    const hours = await stores.traffic.listRouteHours(sinceMs);
    const { models, providers } = catalog();
    const isSimulated = ({ provider }: { provider: string }) => providers.get(provider)?.kind === 'sandbox';
    const offered = [...models.values()].filter(({ routes }) => !routes.every(isSimulated));
    return judgeTraffic(hours, offered, (name) => began.get(name) ?? null, nowMs);
  }

  async #findRefused(nowMs: number): Promise<Finding[]> {
    const sinceMs = Math.floor((nowMs - bounds.incidentWatchedMs) / MINUTE_MS) * MINUTE_MS;
    const question = { sinceMs, least: 1, limit: bounds.rejectedReadMax };
    return judgeRefusals(await this.#parts.stores.traffic.listFrequentRefusals(question));
  }

  async #findUpkeep(nowMs: number): Promise<Finding[]> {
    const { stores, catalog } = this.#parts;
    const { providers, models } = catalog();
    const page = {
      account: null,
      types: UPKEEP_EVENTS,
      sinceMs: null,
      untilMs: null,
      before: null,
      limit: bounds.incidentEventsRead,
    };
    const events = await stores.events.listEvents(page);
    const backedUp = await stores.events.readFact(LAST_BACKUP);
    const listed = [...models.values()].flatMap(({ priceListedOn }) => priceListedOn ?? []).sort();
    const upkeep: Upkeep = {
      events,
      lastBackupAtMs: parseWholeNumber(backedUp),
      exports: await this.#readExports(events),
      destinations: await stores.destinations.listDestinations({
        accountId: null,
        after: null,
        limit: bounds.incidentDestinationsRead,
      }),
      mails: await stores.mails.listDueMails(nowMs + DAY_MS, bounds.incidentEventsRead),
      credentials: [...providers.values()].flatMap(({ name: provider, credentials }) =>
        credentials.map(({ name: credential, secret: { failure } }) => ({ provider, credential, failure })),
      ),
      margins: await this.#readMargins(nowMs),
      pricesAsOf: listed.at(-1) ?? null,
    };
    return judgeUpkeep(upkeep, nowMs);
  }

  /** The exports that failed and still exist. */
  async #readExports(events: Upkeep['events']): Promise<Upkeep['exports']> {
    const { exports } = this.#parts.stores;
    const found = new Map<string, { id: number; doneAtMs: number | null }>();
    const named = events.flatMap(({ type, data }) => (type === 'export.failed' ? [String(data['export'])] : []));
    for (const text of new Set(named)) {
      const id = parseId('exp', text);
      const schedule = id === null ? null : await exports.getExport(id);
      if (id === null || schedule === null) continue;
      const [run] = await exports.listExportRuns({ exportId: id, before: null, limit: 1 });
      found.set(text, { id, doneAtMs: run?.status === 'done' ? run.doneAtMs : null });
    }
    return found;
  }

  /** Read again every few minutes. */
  async #readMargins(nowMs: number): Promise<readonly ModelMargin[]> {
    if (this.#margins !== null && nowMs - this.#margins.atMs < bounds.incidentMarginEveryMs)
      return this.#margins.margins;
    const sinceMs = (Math.floor(nowMs / DAY_MS) - (bounds.incidentMarginDays - 1)) * DAY_MS;
    const everything = { account: null, key: null, madeBy: null, model: null, sinceMs, untilMs: null };
    const { rows } = await this.#parts.stores.usage.totalUsage({
      ...everything,
      groupBy: 'model',
      thenBy: ['group'],
      limit: bounds.pageItemsMax,
    });
    const margins = rows.flatMap((total): ModelMargin[] => {
      const margin = marginOfTotal(total);
      if (margin === null || total.model === null) return [];
      const { model, group, costedMessages: messages } = total;
      return [{ model, group, margin: exactNumber(margin), sinceMs, messages }];
    });
    this.#margins = { atMs: nowMs, margins };
    return margins;
  }

  /** Accounts that paid for a message, or were credited, after they were refused last. */
  async #listOver(open: readonly Incident[], refused: readonly Finding[], nowMs: number): Promise<Set<string>> {
    const over = new Set<string>();
    for (const { name, account, seenAtMs, facts: known } of open) {
      if (known.kind !== 'account_refused' || known.cause !== 'insufficient_user_quota' || account === null) continue;
      const lastAtMs = refused.find((finding) => finding.name === name)?.seenAtMs ?? seenAtMs;
      if (nowMs - lastAtMs < MINUTE_MS) continue;
      const page = { account, sinceMs: lastAtMs + 1, untilMs: null, before: null, limit: 1 };
      if ((await this.#parts.stores.ledger.listEntries(page)).length > 0) over.add(name);
    }
    return over;
  }

  /** The findings with who is affected, as far as it is counted. */
  async #countAffected(open: readonly Incident[], findings: readonly Finding[], nowMs: number): Promise<Finding[]> {
    const began = new Map(open.map(({ name, beganAtMs }) => [name, beganAtMs]));
    for (const name of this.#counted.keys()) if (!began.has(name)) this.#counted.delete(name);
    let left: number = bounds.incidentCountedMax;
    const counted: Finding[] = [];
    for (const finding of findings) {
      const { name, begins, sinceMs } = finding;
      const isMeant = (begins || began.has(name)) && COUNTED.includes(finding.facts.kind);
      if (!isMeant || left <= 0) {
        counted.push(finding);
        continue;
      }
      const before = this.#counted.get(name);
      if (before === undefined || nowMs - before.atMs >= bounds.incidentCountEveryMs) {
        left--;
        const fromMs = Math.max(began.get(name) ?? sinceMs, nowMs - DAY_MS);
        this.#counted.set(name, { atMs: nowMs, known: await this.#count(finding, fromMs, nowMs) });
      }
      counted.push({ ...finding, facts: { ...finding.facts, ...this.#counted.get(name)?.known } });
    }
    return counted;
  }

  async #count({ account, facts: { kind, model, key, cause } }: Finding, sinceMs: number, nowMs: number) {
    return kind === 'model_failing'
      ? this.#countModel(model, sinceMs, nowMs)
      : this.#countRefused({ account, key, code: cause }, sinceMs, nowMs);
  }

  /** Accounts whose messages of the model failed. */
  async #countModel(model: string | null, sinceMs: number, nowMs: number): Promise<Partial<IncidentFacts>> {
    const sums = new Map<number, number>();
    let groups = 0;
    for (const outcome of ['failed', 'upstream_cut'] as const) {
      const asked = { ...ALL_RECORDS, model, outcome, sinceMs, untilMs: nowMs, groupBy: 'account' as const };
      const { rows, groups: count } = await this.#parts.stores.usage.summarizeUsage(asked);
      groups = Math.max(groups, count);
      for (const { account, messages } of rows)
        if (account !== null) sums.set(account, (sums.get(account) ?? 0) + messages);
    }
    const mostAffected: AffectedAccount[] = [...sums]
      .map(([account, requests]) => ({ account, requests }))
      .sort((one, other) => other.requests - one.requests || one.account - other.account);
    return { accounts: Math.max(groups, sums.size), mostAffected: mostAffected.slice(0, bounds.incidentAccountsShown) };
  }

  /** Requests that were refused, of all requests of the account or key. */
  async #countRefused(
    { account, key, code }: { account: number | null; key: number | null; code: string | null },
    sinceMs: number,
    nowMs: number,
  ): Promise<Partial<IncidentFacts>> {
    const { traffic, usage } = this.#parts.stores;
    const of = { account, key, madeBy: null };
    const refusals = await traffic.totalRefusals({ ...of, code, sinceMs, untilMs: null, groupBy: 'code', limit: 1 });
    const requests = refusals.whole.count;
    if (account === null) return { requests };
    const asked = { ...ALL_RECORDS, ...of, sinceMs, untilMs: nowMs, groupBy: null };
    const { whole } = await usage.summarizeUsage(asked);
    return { requests, ofRequests: requests + whole.messages };
  }
}

const COUNTED: readonly IncidentFacts['kind'][] = [
  'model_failing',
  'account_refused',
  'key_refused',
  'requests_rejected',
];

const ALL_RECORDS = {
  ...NO_FILTER,
  account: null,
  key: null,
  madeBy: null,
  outcome: null,
  isOfDays: false,
  limit: bounds.pageItemsMax,
} as const;

/** The incidents that only a node itself sees: the signals that it cannot export. */
export class NodeIncidents {
  readonly #failing = new Map<string, { sinceMs: number; failure: string }>();
  readonly #node: string;
  #isStored = false;

  /** `node` identifies this process. */
  constructor(node: string) {
    this.#node = node;
  }

  /** `failure` null: it works again. */
  note(signal: string, failure: string | null, atMs: number): void {
    if (failure === null) this.#failing.delete(signal);
    else this.#failing.set(signal, { failure, sinceMs: this.#failing.get(signal)?.sinceMs ?? atMs });
  }

  /** Throws store_unavailable. What it has not stored is stored in the next round. */
  async round({ incidents }: Pick<Stores, 'incidents'>, nowMs: number): Promise<void> {
    if (this.#failing.size === 0 && !this.#isStored) return;
    const open = (await incidents.listOpenIncidents()).filter(({ name }) => name.startsWith(this.#prefix));
    const findings = [...this.#failing].map(
      ([signal, { sinceMs, failure }]): Finding => ({
        name: `${this.#prefix}${signal}`,
        account: null,
        sinceMs,
        begins: true,
        facts: facts('telemetry_failing', 'warning', { subject: signal, said: failure, saidAtMs: nowMs }),
      }),
    );
    const failing = new Set(findings.map(({ name }) => name));
    const over = new Set(open.map(({ name }) => name).filter((name) => !failing.has(name)));
    const changes = followIncidents(open, { findings, over }, nowMs);
    await incidents.changeIncidents(withEndings(changes, () => true, nowMs));
    this.#isStored = findings.length > 0;
  }

  get #prefix(): string {
    return `telemetry:${this.#node}:`;
  }
}
