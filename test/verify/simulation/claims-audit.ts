// Whether a claim is answered once and charged once, whatever was tried under it, on however many nodes; and whether
// nothing is given back before that.

import { bounds } from '../../../src/config/config.ts';
import type { Changes, Ending, HoldRow, IdempotencyRow } from '../../../src/ledger/ledger.ts';

/** The messages that were ever admitted, as they stand now. */
export interface Messages {
  holds: ReadonlyMap<string, HoldRow>;
  endings: ReadonlyMap<string, Ending>;
}

export class ClaimsAudit {
  readonly #fail: (fault: string) => void;
  readonly #messages: Messages;
  readonly #claims = new Map<string, IdempotencyRow>();
  /** The claim of each message that has one, and the messages of each claim. */
  readonly #claimOf = new Map<string, string>();
  readonly #submitted = new Map<string, string[]>();
  /** By idempotency record: the message whose client got a complete answer. */
  readonly #told = new Map<string, string>();

  constructor(messages: Messages, fail: (fault: string) => void) {
    this.#messages = messages;
    this.#fail = fail;
  }

  /** A message began under a claim. */
  began(requestId: string, key: number, name: string): void {
    if (this.#claimOf.has(requestId)) return;
    const claim = `${key} ${name}`;
    this.#claimOf.set(requestId, claim);
    this.#submitted.set(claim, [...(this.#submitted.get(claim) ?? []), requestId]);
  }

  /** After each commit, when `messages` are those after it. */
  committed(changes: Changes, nowMs: number): void {
    for (const [name, claim] of changes.claims) {
      const before = this.#claims.get(name);
      const isKept = before?.isAnswered === true && before.atMs + bounds.idempotencyKeptMs > nowMs;
      if (isKept && !(claim.isAnswered && claim.requestId === before.requestId))
        this.#fail(`claim ${name} was answered by ${before.requestId}, and ${claim.requestId} has it now`);
      this.#claims.set(name, claim);
    }
    const touched = new Set<string>();
    const touch = (requestId: string) => {
      const claim = this.#claimOf.get(requestId);
      if (claim !== undefined) touched.add(claim);
    };
    for (const requestId of changes.holds.keys()) touch(requestId);
    for (const { record } of changes.endings) touch(record.requestId);
    for (const { record } of changes.corrections) touch(record.requestId);
    for (const claim of touched) this.#check(claim);
  }

  /** The charge of a message was reversed: only the answer of its claim may do that. */
  reversed(requestId: string, { claims }: Changes): void {
    const claim = this.#claimOf.get(requestId);
    const row = claim === undefined ? undefined : claims.get(claim);
    if (row?.isAnswered !== true || row.requestId === requestId)
      this.#fail(`the charge of ${requestId} was reversed, and its claim ${claim} was not answered by another message`);
  }

  /** A client got the complete answer of this message. */
  told(requestId: string): void {
    const claim = this.#claimOf.get(requestId);
    if (claim === undefined) return;
    const before = this.#told.get(claim);
    if (before !== undefined && before !== requestId)
      this.#fail(`claim ${claim} was answered twice, by ${before} and ${requestId}`);
    this.#told.set(claim, requestId);
    const row = this.#claims.get(claim);
    if (row?.requestId !== requestId || !row.isAnswered)
      this.#fail(`${requestId} was told to be complete, and its claim ${claim} does not stand for it`);
  }

  #check(claim: string): void {
    const submitted = this.#submitted.get(claim) ?? [];
    const { holds, endings } = this.#messages;
    const running = submitted.filter((requestId) => holds.has(requestId));
    if (running.length > 1) this.#fail(`claim ${claim} stands for ${running} at once`);
    if (this.#claims.get(claim)?.isAnswered !== true) return;
    const charged = submitted.filter((requestId) => isCharged(endings.get(requestId)));
    if (charged.length > 1) this.#fail(`claim ${claim} is charged ${charged.length} times, by ${charged}`);
  }
}

/** Attempts that the client ended, or whose money was spent, are paid beside the answer. */
function isCharged(ending: Ending | undefined): boolean {
  if (ending === undefined) return false;
  const { cost, writtenOff, outcome } = ending.record;
  return cost > writtenOff && outcome !== 'client_gone' && outcome !== 'quota_cut';
}
