// Preloaded into the service (`bun --preload`) and its ledger thread: kills the process, or the database process
// CRASH_DATABASE, at pass number CRASH_PASSING of the point CRASH_LABEL. The service does not know of it.

import { Database } from 'bun:sqlite';
import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { Relay } from '../../../src/gateway/relay.ts';
import { type LedgerGate, NodeLedger, type Operation, ResidentLedger } from '../../../src/ledger/ledger.ts';
import { type EventSource, type Provider, providerKinds } from '../../../src/providers/providers.ts';
import { ConnectionWriter, type RowCommit } from '../../../src/storage/sqlite/sqlite.ts';
import { PING, PlainDeltas, type StreamEvent, type StreamPiece } from '../../../src/wire/wire.ts';
import { LATE_STREAM_MS, LOAD_BEGINS } from './points.ts';

const wanted = process.env['CRASH_LABEL'];
const database = process.env['CRASH_DATABASE'];
let passingsLeft = Number(process.env['CRASH_PASSING']);
/** On a busy machine a load makes fewer passes: after this time, the next one is taken. */
const PASSINGS_MS_MAX = 6_000;
let loadedMs = performance.now();
/** A database is killed under load only: the service commits by itself, too. */
let isArmed = database === undefined;

if (isMainThread) {
  process.on(LOAD_BEGINS, () => {
    isArmed = true;
    loadedMs = performance.now();
  });
  startThreadsWithPoints();
  watchLedger();
  watchResidentExtensions();
  for (const provider of providerKinds.values()) watchProvider(provider);
  watchRelay();
} else {
  watchCommits();
}

/** Does not return at the requested pass, unless the database is killed: no further line of this thread runs. */
export function pass(label: string): void {
  if (label !== wanted || !isArmed) return;
  passingsLeft--;
  const isLast = performance.now() - loadedMs > PASSINGS_MS_MAX && passingsLeft > 0;
  if (passingsLeft !== 0 && !isLast) return;
  passingsLeft = 0;
  writeSync(2, `crash: ${label} ${Date.now()}\n`);
  if (database !== undefined) return void process.kill(Number(database), 'SIGQUIT');
  process.kill(process.pid, 'SIGKILL');
  for (;;); // Waits for the signal.
}

/** A process preload does not run in its threads. */
function startThreadsWithPoints(): void {
  const Plain = globalThis.Worker;
  globalThis.Worker = class extends Plain {
    constructor(script: string | URL, options: WorkerOptions = {}) {
      super(script, { ...options, preload: [import.meta.path] });
    }
  };
}

function watchLedger(): void {
  const { admit, end } = NodeLedger.prototype;
  NodeLedger.prototype.admit = async function (...given) {
    const isMessage = given[0].kind === 'admit';
    if (isMessage) pass('before-hold');
    const admission = await admit.apply(this, given);
    if (isMessage && admission.ok) pass('after-hold');
    return admission;
  };
  NodeLedger.prototype.end = async function (...given) {
    const isBill = given[0].kind === 'settle';
    if (isBill) pass('before-settlement');
    const settlement = await end.apply(this, given);
    if (isBill) pass('after-settlement');
    return settlement;
  };
}

/** With SQLite, an extension is decided in memory. */
function watchResidentExtensions(): void {
  const { change } = ResidentLedger.prototype;
  ResidentLedger.prototype.change = function (operation) {
    if (operation.kind === 'extend') pass('before-extension');
    const answer = change.call(this, operation);
    if (operation.kind === 'extend') pass('after-extension');
    return answer;
  };
}

/** With PostgreSQL, on every path to the ledger. */
export function watchExtensions(gate: LedgerGate): void {
  const { submit } = gate;
  gate.submit = async function (bundle) {
    const isExtension = bundle.operations.some(({ kind }) => kind === 'extend');
    if (isExtension) pass('before-extension');
    const answers = await submit.call(this, bundle);
    if (isExtension) pass('after-extension');
    return answers;
  };
}

function watchProvider(provider: Provider): void {
  const submit = provider.submit.bind(provider);
  provider.submit = async (attempt) => {
    pass('before-dispatch');
    const reply = await submit(attempt);
    return reply.form === 'message' ? reply : { ...reply, events: watchFirst(reply.events) };
  };
}

/** The upstream has started, and the client has received nothing. */
function watchFirst(events: EventSource): EventSource {
  let isFirst = true;
  return {
    async next() {
      const arrived = await events.next();
      if (isFirst) pass('before-first-byte');
      isFirst = false;
      return arrived;
    },
  };
}

const FLUSH_MS = 1; // The runtime sends the last piece only once it knows that no other follows.

interface Stream {
  startedMs: number;
  /** Relayed pieces, without pings. */
  pieces: number;
  hasEnded: boolean;
}

/** The next piece is requested once the previous one was written to the socket. */
function watchRelay(): void {
  const { next } = Relay.prototype;
  const streams = new WeakMap<object, Stream>();
  Relay.prototype.next = async function () {
    const stream = streams.get(this) ?? { startedMs: performance.now(), pieces: 0, hasEnded: false };
    streams.set(this, stream);
    passPiece(stream);
    const piece = await next.call(this);
    if (!piece.done && !isPing(piece.value)) {
      stream.pieces++;
      stream.hasEnded = !(piece.value instanceof PlainDeltas) && piece.value.some(isEnd);
    }
    return piece;
  };
}

function isPing(piece: StreamPiece): boolean {
  return !(piece instanceof PlainDeltas) && piece.length === 1 && piece[0] === PING;
}

function isEnd({ name }: StreamEvent): boolean {
  return name === 'message_stop';
}

function passPiece({ startedMs, pieces, hasEnded }: Stream): void {
  if (pieces === 0) return;
  if (hasEnded) setTimeout(() => pass('after-last-event'), FLUSH_MS);
  else if (pieces === 1) pass('after-first-byte');
  else pass('mid-stream');
  if (!hasEnded && performance.now() - startedMs > LATE_STREAM_MS) pass('late-stream');
}

/** Names a commit by the operations in its batch. */
export const batchNames: Partial<Record<Operation['kind'], string>> = {
  admit: 'hold',
  extend: 'extension',
  settle: 'settlement',
  credit: 'credit',
  expire: 'recovery',
};

/** Names a commit by its rows. A statement that writes a hold stands for a new hold or an extended one. */
function namesOf({ rows }: RowCommit): string[] {
  const names = rows.flatMap(([statement, each]) => {
    if (statement === 'writeHold') return ['hold', 'extension'];
    if (statement === 'writeUsage') return each.map((cells) => (cells.includes('expired') ? 'recovery' : 'settlement'));
    return statement === 'writeEntry' && each.some((cells) => cells.includes('payment')) ? ['credit'] : [];
  });
  return [...new Set(names)];
}

/** Between the writes of a batch and its commit, and between the commit and its answers. */
function watchCommits(): void {
  let names: string[] = [];
  const { write } = ConnectionWriter.prototype;
  ConnectionWriter.prototype.write = function (commit) {
    names = namesOf(commit);
    return write.call(this, commit);
  };
  const { prepare } = Database.prototype;
  Database.prototype.prepare = function (this: Database, ...given: Parameters<typeof prepare>) {
    const statement = prepare.apply(this, given);
    if (given[0] !== 'COMMIT') return statement;
    const run = statement.run.bind(statement);
    statement.run = (...values) => {
      for (const name of names) pass(`${name}-before-commit`);
      const changes = run(...values);
      for (const name of names) pass(`${name}-after-commit`);
      return changes;
    };
    return statement;
  } as typeof prepare;
}
