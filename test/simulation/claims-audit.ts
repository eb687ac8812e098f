// Whether a claim is answered once and charged once, whatever was tried under it, on however many nodes.

import { bounds } from '../../src/config.ts';
import type { Changes, ClaimRow, Ending, HoldRow } from '../../src/ledger/ledger.ts';

/** The messages that were ever admitted, as they stand now. */
export interface Messages {
  holds: ReadonlyMap<string, HoldRow>;
  endings: ReadonlyMap<string, Ending>;
}

export class ClaimsAudit {
  readonly #fail: (fault: string) => void;
  readonly #messages: Messages;
  readonly #claims = new Map<string, ClaimRow>();
  /** The claim of each message that has one, and the messages of each claim. */
  readonly #claimOf = new Map<string, string>();
  readonly #submitted = new Map<string, string[]>();
  /** By claim: the message whose caller was told that it is complete. */
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
      const isKept = before?.isAnswered === true && before.atMs + bounds.claimKeptMs > nowMs;
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

  /** A caller was told that the answer of this message is complete. */
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
    const charged = submitted.filter((requestId) => isCharged(endings.get(requestId)));
    if (charged.length > 1) this.#fail(`claim ${claim} is charged ${charged.length} times, by ${charged}`);
  }
}

/** What the caller left himself, or ended for want of money, he pays beside the answer. */
function isCharged(ending: Ending | undefined): boolean {
  if (ending === undefined) return false;
  const { cost, writtenOff, outcome } = ending.record;
  return cost > writtenOff && outcome !== 'client_gone' && outcome !== 'quota_cut';
}
