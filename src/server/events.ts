// Composes what watches the service and delivers events.

import { isOwnAddress } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import { formatId, parseId } from '../base/ids.ts';
import { type CatalogHolder, installationOf } from '../catalog/catalog.ts';
import { bounds, type MailSettings } from '../config/config.ts';
import {
  Dispatcher,
  describeByName,
  type Mailer,
  makeChannels,
  makeMailSender,
  makeNoticeSender,
  type Send,
} from '../delivery/delivery.ts';
import type { EventStore, NewEvent } from '../events/events.ts';
import { type ExportJobParts, runExports } from '../exports/exports.ts';
import { type Gateway, listHealth } from '../gateway/gateway.ts';
import { describeFailure, type LogWriter, type ServiceMetrics } from '../observability/observability.ts';
import { makeExportJobStore, makeOutbox } from '../storage/storage.ts';
import { rankAccounts } from './accounts-in-metrics.ts';
import { lookupHost } from './compose.ts';
import { fetchBills } from './fetch-bills.ts';
import { startJobs } from './jobs.ts';
import type { Leadership } from './leadership.ts';
import { reportInternalFailure } from './observe.ts';
import { type Payments, paymentJobs } from './open-payments.ts';
import type { OpenSettings } from './open-settings.ts';
import type { OpenStore } from './open-store.ts';
import { findExpiringKeys, findUnusualSpending } from './watch-accounts.ts';
import { BudgetWatch } from './watch-budgets.ts';
import { IncidentWatch, type NodeIncidents } from './watch-incidents.ts';
import { watchPlans } from './watch-plans.ts';
import { watchPrices } from './watch-prices.ts';
import { ProviderWatch } from './watch-providers.ts';
import { RefusalWatch } from './watch-refusals.ts';

export interface EventParts {
  readMail: OpenSettings['readMail'];
  store: OpenStore;
  gateway: Gateway;
  holder: CatalogHolder;
  clock: Clock;
  log: LogWriter;
  metrics: ServiceMetrics;
  own: NodeIncidents;
  version: string;
  payments: Payments | null;
  mailer: Mailer | null;
  leadership: Leadership;
}

/** Starts at once. The returned function stops everything. */
export function startEvents(parts: EventParts): () => Promise<void> {
  const { store, gateway, holder, clock, log, metrics, version, readMail, payments, leadership } = parts;
  const { stores, vault, ledger, outbox: reads } = store;
  const channels = makeChannels({
    vault,
    nowMs: clock.nowMs,
    version,
    lookup: lookupHost,
    privateNetwork: () => holder.current.settings.webhookPrivateNetwork,
    accountName: async (id) => (await stores.accounts.getAccount(id))?.name ?? null,
    nameOf: (id) => nameOf(stores, id),
    mail: readMail === null ? null : makeMailChannel(readMail, store, holder),
  });
  const outbox = makeOutbox(ledger, reads, () => leadership.name);
  const onAttempt = (kind: string, { error }: { error: string | null }) => metrics.countDelivery(kind, error === null);
  const dispatcher = new Dispatcher({ outbox, channels, clock, random: Math.random, onAttempt });
  const watch = new ProviderWatch({
    events: stores.events,
    health: () => listHealth(gateway.health, gateway.catalog()),
    clock,
  });
  const refusals = new RefusalWatch({ stores, clock });
  const budgets = new BudgetWatch({ stores, clock });
  const incidents = new IncidentWatch({ stores, catalog: () => holder.current, clock });
  const everyMs = bounds.jobsEveryMs;
  const exports = exportParts(parts, leadership);
  const plans = { stores, subscriptions: payments?.subscriptions ?? null, clock, log };
  const failed = makeUpkeepReport(stores.events, parts);
  const catalog = () => holder.current;
  const billing = { bills: stores.bills, usage: stores.usage, catalog, vault, lookup: lookupHost, clock, log, failed };
  const stopJobs = startJobs({
    leadership,
    dispatcher,
    clock,
    log,
    seldom: [
      { name: 'expiring keys', everyMs, run: (signal) => findExpiringKeys({ stores, clock, signal }) },
      { name: 'unusual spending', everyMs, run: (signal) => findUnusualSpending({ stores, clock, signal }) },
      { name: 'budgets', everyMs: bounds.budgetsWatchedMs, run: (signal) => budgets.round(signal) },
      { name: 'waiting deliveries', everyMs, run: () => dispatcher.resume() },
      {
        name: 'incidents',
        firstAfterMs: 0,
        everyMs: bounds.incidentsEveryMs,
        run: (signal) => incidents.round(signal),
      },
      { name: 'rejected requests', everyMs: bounds.rejectedEveryMs, run: () => refusals.round() },
      {
        name: 'account ranking',
        everyMs,
        run: () => rankAccounts({ stores, settings: () => catalog().settings, clock }),
      },
      { name: 'prices', everyMs: bounds.pricesWatchedMs, run: () => watchPrices({ stores, catalog, clock }) },
      { name: 'plans', everyMs: bounds.plansWatchedMs, run: (signal) => watchPlans({ ...plans, signal }) },
      { name: 'exports', everyMs: bounds.exportsEveryMs, run: (signal) => runExports(exports, signal) },
      { name: 'files', firstAfterMs: 0, everyMs: bounds.filesSweptMs, run: (signal) => sweepFiles(parts, signal) },
      { name: 'provider bills', everyMs: bounds.billsEveryMs, run: (signal) => fetchBills(billing, signal) },
      ...paymentJobs(payments, log),
    ],
    onFailure: failed,
  });
  const watchFailed = (failure: unknown) => reportInternalFailure(parts, 'provider_watch', failure);
  const look = () => watch.round().then(() => parts.own.round(stores, clock.nowMs()));
  const timer = setInterval(() => void look().catch(watchFailed), bounds.providersWatchedMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await stopJobs();
  };
}

async function sweepFiles({ gateway, log }: EventParts, signal: AbortSignal): Promise<void> {
  const files = (await gateway.files?.sweep(signal)) ?? 0;
  if (files > 0) log.writeEvent('files_removed', { files });
}

function exportParts({ store, holder, clock, log, mailer }: EventParts, leadership: Leadership): ExportJobParts {
  const { stores, vault, ledger } = store;
  return {
    store: makeExportJobStore(ledger, stores.exports, () => leadership.name),
    sources: stores,
    names: () => ({
      installation: installationOf(holder.current.settings).name,
      hidden: holder.current.settings.hiddenFromAccounts,
    }),
    vault,
    lookup: lookupHost,
    privateNetwork: () => holder.current.settings.webhookPrivateNetwork,
    mailer,
    clock,
    report({ id }, { periodMs, status, error, rows, bytes }) {
      const period = new Date(periodMs).toISOString();
      const event = error === null ? 'export_sent' : 'export_not_sent';
      log.writeEvent(event, { export: formatId('exp', id), period, status, rows, bytes, cause: error });
    },
  };
}

/** The name of a user, or else their email; the name of a key. */
async function nameOf({ people, accounts }: OpenStore['stores'], id: string): Promise<string | null> {
  const person = parseId('person', id);
  if (person !== null) {
    const found = await people.getPerson(person);
    return found?.name || found?.email || null;
  }
  const key = parseId('key', id);
  return key === null ? null : ((await accounts.getKey(key))?.name ?? null);
}

const NOT_OWN = 'its address is not that of an enabled person of the account';

function makeMailChannel(
  readMail: () => MailSettings,
  { vault, stores }: OpenStore,
  holder: Pick<CatalogHolder, 'current'>,
): Send {
  const { publicUrl } = readMail();
  const identity = () => installationOf(holder.current.settings);
  const sendNotice = makeNoticeSender({ sender: makeMailSender(readMail), vault, publicUrl, identity });
  return async (destination, event) => {
    const { accountId, address } = destination;
    if (accountId !== null && !(await isOwnAddress(stores.people, accountId, address)))
      return { ms: 0, status: null, error: NOT_OWN, excerpt: null, isGone: true };
    const startedMs = performance.now();
    const account = event.account === null ? null : await stores.accounts.getAccount(event.account);
    const sentence = await describeByName(event, (id) => nameOf(stores, id));
    const outcome = await sendNotice(destination, event, account?.name ?? null, sentence);
    const ms = Math.round(performance.now() - startedMs);
    // The words of the mail server are for operators, who find them in its log.
    const error = outcome.isSent ? null : 'the mail server did not accept it';
    return { ms, status: null, error, excerpt: null, isGone: false };
  };
}

/** Reports a task that failed as an event, once a day for each task. Never rejects: its failure is in the log. */
export function makeUpkeepReport(
  events: Pick<EventStore, 'emit'>,
  parts: Pick<EventParts, 'clock' | 'log' | 'metrics'>,
) {
  return async (task: string, failure: unknown): Promise<void> => {
    const atMs = parts.clock.nowMs();
    const reason = describeFailure(failure).slice(0, bounds.nameCharactersMax);
    const dedupe = `upkeep.failed:${task}:${new Date(atMs).toISOString().slice(0, 10)}`;
    const event: NewEvent = { atMs, account: null, type: 'upkeep.failed', data: { task, reason }, dedupe };
    await events.emit([event]).catch((cause) => reportInternalFailure(parts, 'upkeep_event', cause));
  };
}
