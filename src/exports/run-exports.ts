// The job that sends exports: makes a run for each period that is over, and sends what is due. A run that was interrupted goes on
// behind its last complete object. Runs on the node that leads.

import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { findUrlFault, type HttpOptions, isPrivateAllowed, type Mailer } from '../delivery/delivery.ts';
import { TurnpikeError } from '../errors.ts';
import type { NewEvent } from '../events/events.ts';
import { Outpaced } from '../ledger/ledger.ts';
import type { Vault } from '../secrets/secrets.ts';
import type { ExportNames, ExportQuestion, ExportSources, Place, Reading } from './export-question.ts';
import { contentTypes, makeFile } from './make-file.ts';
import { RecordsDropped } from './read-charges.ts';
import { abortUpload, type S3Access, S3Failure, S3Object, testObject } from './s3.ts';
import {
  dueOf,
  type ExportJobStore,
  type ExportRun,
  type ExportSchedule,
  exportContext,
  newRun,
  periodName,
  periodOf,
} from './schedule.ts';

export interface ExportJobParts {
  store: ExportJobStore;
  sources: ExportSources;
  names(): ExportNames;
  vault: Pick<Vault, 'open'>;
  lookup: HttpOptions['lookup'];
  /** The setting `webhook_private_network`. */
  privateNetwork(): 'off' | 'operators' | 'everyone';
  /** null: mail is not set up. */
  mailer: Pick<Mailer, 'send'> | null;
  clock: Clock;
  /** Called with the outcome of each attempt, for the log. */
  report(schedule: ExportSchedule, run: ExportRun): void;
  ca?: string;
}

/** An export whose file cannot be sent until somebody changes it. The message is for its owner. */
class ExportRefused extends Error {
  override name = 'ExportRefused';
}

/** A run that waits for its turn, or has it. Companies take turns; null: operators. */
interface Turn {
  run: ExportRun;
  company: number | null;
}

/**
 * Sends what is due, several runs at a time, and looks for more while they are sent: a slow store delays only its own company. Ends
 * when nothing is due. Rejects with store_unavailable, and with Outpaced if another node leads.
 */
export async function runExports(parts: ExportJobParts, signal: AbortSignal): Promise<void> {
  const failing = new AbortController();
  const stopping = AbortSignal.any([signal, failing.signal]);
  const running = new Map<Turn, Promise<void>>();
  const begin = (turn: Turn) =>
    perform(parts, turn.run, stopping)
      .catch((failure) => failing.abort(failure)) // of the store: the others stop, too
      .finally(() => running.delete(turn));
  let due: Turn[] = [];
  let listedAtMs = Number.NEGATIVE_INFINITY;
  try {
    while (!stopping.aborted) {
      if (due.length === 0 || performance.now() - listedAtMs >= bounds.exportsEveryMs) {
        due = await listDue(parts, [...running.keys()]);
        listedAtMs = performance.now();
      }
      for (let turn = nextTurn(due, running); turn !== null; turn = nextTurn(due, running)) {
        due.splice(due.indexOf(turn), 1);
        running.set(turn, begin(turn));
      }
      if (running.size === 0) break; // each attempt leaves the list, or waits for the next one
      await untilOneEnds(running.values(), stopping);
    }
  } catch (failure) {
    failing.abort(failure);
  }
  await Promise.all(running.values());
  if (failing.signal.aborted) throw failing.signal.reason;
}

/** The run that has waited longest, of companies with the fewest in progress; null: no slot is free. */
function nextTurn(due: readonly Turn[], running: ReadonlyMap<Turn, unknown>): Turn | null {
  if (running.size >= bounds.exportSendsMax) return null;
  const counts = new Map<number | null, number>();
  for (const { company } of running.keys()) counts.set(company, (counts.get(company) ?? 0) + 1);
  let next: Turn | null = null;
  let least: number = bounds.exportSendsPerCompanyMax;
  for (const turn of due) {
    const count = counts.get(turn.company) ?? 0;
    if (count < least) [next, least] = [turn, count];
  }
  return next;
}

async function untilOneEnds(running: Iterable<Promise<void>>, signal: AbortSignal): Promise<void> {
  const ended = new AbortController();
  const rest = wait(bounds.exportsEveryMs, undefined, { ref: false, signal: AbortSignal.any([signal, ended.signal]) });
  await Promise.race([...running, rest.catch(() => {})]);
  ended.abort();
}

/** Makes runs of periods that are over. One run of each export is due, unless one is in progress. */
async function listDue(parts: ExportJobParts, running: readonly Turn[]): Promise<Turn[]> {
  const { store, clock, sources } = parts;
  for (const schedule of await store.listDueExports(clock.nowMs(), bounds.rowsAtOnce))
    await advance(parts, schedule).catch(ignoreOutpaced);
  const companies = new Map<number, Promise<number>>();
  const turns: Turn[] = [];
  for (const { run, accountId } of await store.listDueExportRuns(clock.nowMs(), bounds.exportsDueAtOnce)) {
    if (running.some(({ run: { exportId } }) => exportId === run.exportId)) continue;
    const company = accountId === null ? null : (companies.get(accountId) ?? findTop(sources, accountId));
    if (accountId !== null && company !== null) companies.set(accountId, company);
    turns.push({ run, company: await company });
  }
  return turns;
}

/** Its owner changed the schedule at this moment: it is due in the next round. If another node leads, the first run to be stored tells. */
function ignoreOutpaced(failure: unknown): void {
  if (!(failure instanceof Outpaced)) throw failure;
}

/** The uppermost account of a company. */
async function findTop({ accounts }: ExportSources, accountId: number): Promise<number> {
  let top = accountId;
  for (let levels = 0; levels < bounds.accountChainMax; levels++) {
    const parent = (await accounts.getAccount(top))?.parentId ?? null;
    if (parent === null) break;
    top = parent;
  }
  return top;
}

async function advance({ store, clock }: ExportJobParts, schedule: ExportSchedule): Promise<void> {
  const period = periodOf(schedule, schedule.periodMs);
  const next = periodOf(schedule, period.untilMs);
  const moved = { periodMs: next.periodMs, dueAtMs: dueOf(schedule, next.untilMs, bounds.exportSettleMs) };
  await store.advance({ ...schedule, ...moved }, newRun(schedule.id, period, clock.nowMs()));
}

/** One attempt, which goes on after the next start, or on another node, if it is stopped. */
async function perform(parts: ExportJobParts, begun: ExportRun, stopping: AbortSignal): Promise<void> {
  const { store, clock } = parts;
  const late = AbortSignal.timeout(bounds.exportSendMsMax);
  const ending = AbortSignal.any([stopping, late]);
  const schedule = await store.getExport(begun.exportId);
  const progress = new Progress(store, begun);
  try {
    if (schedule === null || schedule.status === 'disabled') throw new ExportRefused('the export is disabled');
    if (schedule.target.kind === 'mail') await sendMails(parts, schedule, schedule.target.addresses, begun);
    else await sendObjects(parts, schedule, progress, ending);
    await progress.save({ status: 'done', nextAtMs: null, doneAtMs: clock.nowMs(), error: null });
  } catch (failure) {
    if (stopping.aborted) return;
    const isLate = late.aborted && (failure === late.reason || isOfRun(failure));
    if (!isLate && !isOfRun(failure)) throw failure;
    const reason = isLate
      ? `it took longer than ${bounds.exportSendMsMax / 60_000} minutes`
      : (failure as Error).message;
    await progress.fail(reason, schedule, clock.nowMs(), failure instanceof ExportRefused);
  }
  if (schedule !== null) parts.report(schedule, progress.run);
}

/** Failures that another attempt or its owner can end. Those of the store stop the job. */
function isOfRun(failure: unknown): failure is Error {
  if (failure instanceof S3Failure || failure instanceof ExportRefused) return true;
  return (
    failure instanceof TurnpikeError && ['invalid_request', 'object_not_found', 'overloaded'].includes(failure.code)
  );
}

/** The stored state of a run while it is performed. */
class Progress {
  readonly #store: ExportJobStore;
  run: ExportRun;

  constructor(store: ExportJobStore, run: ExportRun) {
    this.#store = store;
    this.run = run;
  }

  /** Throws Outpaced if another node leads, or somebody started the run again. */
  async save(change: Partial<ExportRun>, events: readonly NewEvent[] = []): Promise<void> {
    const changed = { ...this.run, ...change };
    await this.#store.saveRun(changed, events);
    this.run = { ...changed, version: changed.version + 1 };
  }

  async fail(error: string, schedule: ExportSchedule | null, nowMs: number, isFinal: boolean): Promise<void> {
    const tries = this.run.tries + 1;
    const reason = error.slice(0, bounds.deliveryExcerptCharactersMax);
    const isOver = isFinal || tries >= bounds.exportTriesMax;
    const pauseMs = Math.min(bounds.exportPauseMs * 2 ** (tries - 1), bounds.exportPauseMsMax);
    const next = isOver
      ? ({ status: 'failed', nextAtMs: null, doneAtMs: nowMs } as const)
      : { nextAtMs: nowMs + pauseMs };
    const events = isOver && schedule !== null ? [failedEvent(schedule, this.run, reason, nowMs)] : [];
    await this.save({ ...next, tries, error: reason }, events);
  }
}

function failedEvent({ id, accountId, name, every }: ExportSchedule, run: ExportRun, reason: string, atMs: number) {
  const data = { export: formatId('exp', id), name, period: periodName(every, run.periodMs), reason };
  const event: NewEvent = { atMs, account: accountId, type: 'export.failed', data, dedupe: null };
  return event;
}

async function sendMails(
  { mailer }: ExportJobParts,
  schedule: ExportSchedule,
  addresses: readonly string[],
  { periodMs, untilMs }: ExportRun,
): Promise<void> {
  if (mailer === null) throw new ExportRefused('mail is not set up on this installation');
  const { id, accountId: account, name, kind, format, by, tagName = null, below = false, every } = schedule;
  const query = new URLSearchParams({
    kind,
    format,
    ...(by.length > 0 && { by: by.join(',') }),
    ...(tagName !== null && { tag_name: tagName }),
    ...(account !== null && { account: formatId('acct', account) }),
    ...(below && { below: 'true' }),
    since: new Date(periodMs).toISOString(),
    until: new Date(untilMs).toISOString(),
  }).toString();
  const request = { kind: 'export', export: id, account, name, period: periodName(every, periodMs), query } as const;
  for (const to of addresses) await mailer.send({ to, request });
}

async function sendObjects(
  parts: ExportJobParts,
  schedule: ExportSchedule,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const access = { ...accessOf(parts, schedule), signal };
  const { upload } = progress.run;
  if (upload !== null) await abortUpload(access, upload); // of an attempt that was interrupted
  const reading: Reading = { sources: parts.sources, names: parts.names(), requester: undefined, signal };
  const question = questionOf(schedule, progress.run);
  while (!progress.run.isRead) {
    signal.throwIfAborted();
    const { objects, place } = progress.run;
    const object = `${folderOf(access, schedule, progress.run)}/part-${String(objects.length + 1).padStart(5, '0')}.${schedule.format}`;
    const sent = await sendObject(access, object, { reading, question, place }, progress).catch(ofDroppedRecords);
    if (sent === null) {
      await progress.save({ objects: [], rows: 0, bytes: 0, place: null, upload: null });
      continue;
    }
    const { rows, bytes } = progress.run;
    await progress.save({
      objects: [...objects, object],
      rows: rows + sent.rows,
      bytes: bytes + sent.bytes,
      place: sent.next,
      isRead: sent.next === null,
      upload: null,
    });
  }
  await sendManifest(access, schedule, progress.run);
}

/** All files of the run must agree on what they have by its records. */
function ofDroppedRecords(failure: unknown): null {
  if (failure instanceof RecordsDropped) return null;
  throw failure;
}

interface Part {
  reading: Reading;
  question: ExportQuestion;
  place: Place | null;
}

async function sendObject(
  access: S3Access,
  object: string,
  { reading, question, place }: Part,
  progress: Progress,
): Promise<{ rows: number; bytes: number; next: Place | null }> {
  const begun = (id: string) => progress.save({ upload: { object, id } });
  const writer = new S3Object(access, object, contentTypes[question.format], begun);
  let rows = 0;
  let next: Place | null = null;
  try {
    for await (const piece of makeFile(reading, question, { from: place, rowsMax: bounds.exportPartRows })) {
      reading.signal?.throwIfAborted();
      await writer.write(piece.bytes);
      rows += piece.rows;
      next = piece.next ?? null;
    }
    await writer.finish();
  } catch (failure) {
    const { upload } = progress.run;
    // After a stop, the next attempt ends the upload: nothing waits for a store that is slow.
    if (upload !== null && reading.signal?.aborted !== true) await abortUpload(access, upload);
    throw failure;
  }
  return { rows, bytes: writer.bytes, next };
}

/** Written last: a reader that finds it finds all objects. */
async function sendManifest(access: S3Access, schedule: ExportSchedule, run: ExportRun): Promise<void> {
  const { kind, format, by, tagName = null, every } = schedule;
  const manifest = {
    export: formatId('exp', schedule.id),
    kind,
    format,
    ...(by.length > 0 && { by }),
    ...(tagName !== null && { tag_name: tagName }),
    period: periodName(every, run.periodMs),
    since: new Date(run.periodMs).toISOString(),
    until: new Date(run.untilMs).toISOString(),
    rows: run.rows,
    bytes: run.bytes,
    objects: run.objects,
  };
  const writer = new S3Object(
    access,
    `${folderOf(access, schedule, run)}/manifest.json`,
    'application/json',
    async () => {},
  );
  await writer.write(Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
  await writer.finish();
}

function folderOf(
  { target: { prefix } }: S3Access,
  { id, kind, every }: ExportSchedule,
  { periodMs }: ExportRun,
): string {
  return [prefix, kind, formatId('exp', id), periodName(every, periodMs)].filter((part) => part !== '').join('/');
}

/** Operators see what providers charge; people of an account do not, although an operator made its export. */
function questionOf(
  { kind, format, by, tagName = null, accountId, below = false }: ExportSchedule,
  { periodMs, untilMs }: ExportRun,
): ExportQuestion {
  const time = { sinceMs: periodMs, untilMs: untilMs - 1 };
  return {
    kind,
    format,
    by,
    tagName,
    account: accountId,
    below,
    reader: accountId,
    ...time,
    hasProviderCost: accountId === null,
  };
}

/** Writes a small object beside those of an export, and deletes it. Returns why that failed; null: it did not. */
export async function testTarget(parts: AccessParts, schedule: ExportSchedule): Promise<string | null> {
  try {
    const access = accessOf(parts, schedule);
    const name = `turnpike-test-${formatId('exp', schedule.id)}.txt`;
    const object = [schedule.target.kind === 's3' ? schedule.target.prefix : '', name].filter((part) => part !== '');
    await testObject(access, object.join('/'));
    return null;
  } catch (failure) {
    if (failure instanceof S3Failure || failure instanceof ExportRefused) return failure.message;
    throw failure;
  }
}

type AccessParts = Pick<ExportJobParts, 'lookup' | 'ca' | 'clock' | 'vault' | 'privateNetwork'>;

/** Throws ExportRefused if its address is not allowed any more, or its secret cannot be opened. */
function accessOf(parts: AccessParts, schedule: ExportSchedule): S3Access {
  const { target, accountId, secretSealed } = schedule;
  const { lookup, ca, clock, vault } = parts;
  if (target.kind !== 's3' || secretSealed === null) throw new ExportRefused('the export has no secret access key');
  const isAllowed = isPrivateAllowed(parts.privateNetwork(), accountId);
  const fault = findUrlFault(target.endpoint, isAllowed);
  if (fault !== null) throw new ExportRefused(`the endpoint ${fault}`);
  let secretAccessKey: string;
  try {
    secretAccessKey = vault.open(secretSealed, exportContext(schedule));
  } catch {
    throw new ExportRefused('the secret access key cannot be opened: set it again');
  }
  const http = { lookup, isPrivateAllowed: isAllowed, ...(ca !== undefined && { ca }) };
  return { target, secretAccessKey, http, now: () => new Date(clock.nowMs()) };
}
