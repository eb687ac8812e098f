// Open holds that nothing will end: older than any message, or of a node that ended long ago while others run.

import { isWholeNumber } from '../base/checked-number.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { DEFAULT_SETTINGS } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { type HoldRow, type LeaseRow, RESERVED } from '../ledger/ledger.ts';
import type { HoldsOfNodes } from '../storage/storage.ts';

/**
 * A sentence for each. None while no node has a lease: the next start ends all holds. Holds that cannot be read are left out: they are
 * reported as such. So are reserves, which no node ends.
 */
export function findOverdueHolds({ holds, leases, settings }: HoldsOfNodes, nowMs: number): string[] {
  const live = leases.filter(({ expiresAtMs }) => expiresAtMs > nowMs);
  if (live.length === 0) return [];
  const longestMs = longestMessageMs(settings);
  return holds
    .filter(({ unreadable, owner }) => unreadable === undefined && owner.node !== RESERVED.node)
    .flatMap((hold) => {
      const why = reasonOf(hold, leases, live, nowMs, longestMs);
      return why === null ? [] : [describe(hold, nowMs, why)];
    });
}

function reasonOf(
  { owner, openedAtMs }: HoldRow,
  leases: readonly LeaseRow[],
  live: readonly LeaseRow[],
  nowMs: number,
  longestMs: number,
): string | null {
  const ageMs = nowMs - openedAtMs;
  const isOwner = ({ node, epoch }: LeaseRow) => node === owner.node && epoch === owner.epoch;
  if (live.some(isOwner))
    return ageMs > longestMs
      ? 'its node runs, but no message can take so long. Restart that node, which ends its holds, and report it'
      : null;
  const lapsedAtMs = leases.find(isOwner)?.expiresAtMs ?? openedAtMs;
  if (nowMs - lapsedAtMs <= bounds.holdEndMsMax) return null;
  return 'its node has ended, and no running node has ended the hold. Look for hold_stuck in the log of the nodes; restart one, and report it if the hold stays';
}

function describe({ requestId, account, amount, openedAtMs, owner }: HoldRow, nowMs: number, why: string): string {
  const age = describeAge(nowMs - openedAtMs);
  return `${requestId}: its hold of ${formatUsd(amount)} USD from ${formatId('acct', account)} is open for ${age}, on the node ${owner.node}: ${why}`;
}

function describeAge(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 120) return `${minutes} minutes`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} hours` : `${Math.floor(minutes / 60 / 24)} days`;
}

/** All that can happen to a message under its hold, one after the other. */
function longestMessageMs(settings: string | null): number {
  const secondsOf = readSeconds(settings);
  const { attemptsSeconds, upstreamStreamSeconds, upstreamAnswerSeconds } = DEFAULT_SETTINGS;
  const seconds =
    secondsOf('attempts_seconds', attemptsSeconds) +
    Math.max(
      secondsOf('upstream_stream_seconds', upstreamStreamSeconds),
      secondsOf('upstream_answer_seconds', upstreamAnswerSeconds),
    ) +
    secondsOf('finish_without_caller_seconds', DEFAULT_SETTINGS.finishWithoutCallerSeconds) +
    secondsOf('settle_wait_seconds', DEFAULT_SETTINGS.settleWaitSeconds) +
    bounds.clientPausedSecondsMax;
  const recountsMs = bounds.recountPausesMs.reduce((sum, ms) => sum + ms, 0);
  return seconds * 1000 + recountsMs + bounds.holdEndMsMax;
}

function readSeconds(settings: string | null): (name: string, otherwise: number) => number {
  let stored: Record<string, unknown> = {};
  try {
    stored = (JSON.parse(settings ?? '{}') as Record<string, unknown> | null) ?? {};
  } catch {
    // Unreadable settings are reported on their own.
  }
  return (name, otherwise) => (isWholeNumber(stored[name]) ? stored[name] : otherwise);
}
