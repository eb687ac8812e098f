// Counts what the provider of a message did not report, after its end: by the provider's own free counter, otherwise by a
// tokenizer. The hold stays until the count is made; without one, the upper bound is billed.

import { topOf } from '../accounts/accounts.ts';
import { machineTimers, sleep } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import type { UsageRecord } from '../ledger/ledger.ts';
import { countPromptLocally, familyOf } from '../tokenizer/tokenizer.ts';
import { type MadeCounts, NOTHING_COUNTED, readMedia } from '../usage/usage.ts';
import { type MessageRequest, parseMessageRequest } from '../wire/wire.ts';
import type { Gateway } from './dependencies.ts';
import { billMessage, type EndedMessage, makeRecord, needsCounts } from './message-record.ts';
import type { OpenAttempt } from './open-attempt.ts';
import { makeAttempt, providerOfKind } from './provider-request.ts';

/** Makes the counts that the bill lacks. Never rejects; a promise only if something must be counted. */
export function countAfterEnd(gateway: Gateway, attempt: OpenAttempt): MadeCounts | Promise<MadeCounts> {
  if (!lacks(attempt, NOTHING_COUNTED)) return NOTHING_COUNTED;
  const { recountPausesMs } = gateway.waits ?? bounds;
  const isStopping = attempt.stopReason === 'draining'; // a stop does not wait
  return countRepeatedly(gateway, attempt, isStopping ? [0] : [0, ...recountPausesMs]);
}

/** Makes the counts that the bill needs. Frees the concurrency slots meanwhile: the upstream has ended. Never rejects. */
export function countForBill(gateway: Gateway, ended: EndedMessage): MadeCounts | Promise<MadeCounts> {
  const { attempt, admitted } = ended;
  if (attempt === null || (attempt.made === null && !needsCounts(ended))) return NOTHING_COUNTED;
  const counting = attempt.countMissing();
  if (!(counting instanceof Promise)) return counting;
  const { clientRequest, caller, offer } = admitted;
  const leave = { kind: 'leave', requestId: clientRequest.requestId } as const;
  void gateway.ledger.leave(leave, caller.account.id, caller.key.id, offer.group.name);
  return counting;
}

/**
 * Nobody could count in time, so that the upper bound was billed: counts again, in long pauses, and refunds the excess. Never
 * rejects. null: the bill is right, or too many others are being corrected.
 */
export function correctBill(
  gateway: Gateway,
  ended: EndedMessage,
  billed: UsageRecord,
  made: MadeCounts,
): Promise<void> | null {
  const { attempt, admitted } = ended;
  if (attempt === null || !needsCounts(ended) || !lacks(attempt, made)) return null;
  if (gateway.running.corrections.take(admitted.caller.account.id, 1) !== null) return null;
  return refundExcess(gateway, ended, attempt, billed);
}

async function refundExcess(
  gateway: Gateway,
  ended: EndedMessage,
  attempt: OpenAttempt,
  { requestId, cost, writtenOff }: UsageRecord,
): Promise<void> {
  const { correctionPausesMs } = gateway.waits ?? bounds;
  try {
    const made = await countRepeatedly(gateway, attempt, correctionPausesMs);
    if (lacks(attempt, made)) return;
    const counted = makeRecord(gateway, ended, billMessage(ended, made));
    const amount = Math.min(cost - counted.cost, cost - writtenOff);
    const note = 'counted after the bill by an upper bound';
    if (amount > 0) await gateway.ledger.submit({ operations: [{ kind: 'refund', requestId, amount, note }] });
  } catch {
    // The bill by the upper bound stays.
  } finally {
    attempt.dropPrompt();
    gateway.running.corrections.giveBack(ended.admitted.caller.account.id, 1);
  }
}

/** Whether the bill needs a count that is not made. */
export function lacks({ counter, admitted, uncountedPrompt }: OpenAttempt, made: MadeCounts): boolean {
  if (made.output === null && counter.uncountedTexts(admitted.maxTokens) !== null) return true;
  return made.prompt === null && uncountedPrompt !== null && counter.reportedPrompt() === null;
}

async function countRepeatedly(
  gateway: Gateway,
  attempt: OpenAttempt,
  pausesMs: readonly number[],
): Promise<MadeCounts> {
  let made = NOTHING_COUNTED;
  for (const pauseMs of pausesMs) {
    if (pauseMs > 0) await sleep(machineTimers, pauseMs);
    // A count that fails is not made: the bill must not depend on what a client sent.
    made = await makeCounts(gateway, attempt, made).catch(() => made);
    if (!lacks(attempt, made)) break;
  }
  return made;
}

async function makeCounts(gateway: Gateway, attempt: OpenAttempt, before: MadeCounts): Promise<MadeCounts> {
  const { counter, uncountedPrompt, admitted } = attempt;
  const texts = before.output === null ? counter.uncountedTexts(admitted.maxTokens) : null;
  const [prompt, text, thinking] = await Promise.all([
    before.prompt !== null || uncountedPrompt === null || counter.reportedPrompt() !== null
      ? before.prompt
      : countPromptAfterEnd(gateway, attempt, uncountedPrompt),
    texts === null ? null : countText(gateway, attempt, texts.text),
    texts === null ? null : countText(gateway, attempt, texts.thinking),
  ]);
  return { prompt, output: text === null || thinking === null ? before.output : { text, thinking } };
}

/**
 * Counts by the model's own vocabulary, else by the provider that answered if it has counted before, else by the nearest
 * vocabulary. null: no count could be made.
 */
async function countText(gateway: Gateway, attempt: OpenAttempt, text: string): Promise<number | null> {
  if (text === '') return 0;
  const { settings, route } = attempt.target;
  const exact = providerOfKind(gateway, settings).countTextLocally?.(text) ?? null;
  if (exact !== null) return exact;
  const model = route.upstreamModel;
  const isCounter = gateway.counting.isCounter(settings.name);
  const isAsked = isCounter && !familyOf(model).isExact && attempt.stopReason !== 'draining'; // a stop does not wait
  const counted = isAsked ? await countTextByTarget(gateway, attempt, text).catch(() => null) : null;
  return counted ?? gateway.tokenizer.count({ account: attempt.admitted.caller.account.id, model, texts: [text] });
}

const BASE = '.'; // providers refuse a prompt that is empty or white space

/** The difference that the text makes to a prompt. */
async function countTextByTarget(gateway: Gateway, attempt: OpenAttempt, text: string): Promise<number | null> {
  const bytes = Buffer.byteLength(text);
  const [base, whole] = await Promise.all([
    countByTarget(gateway, attempt, promptOf(attempt, BASE), 0),
    countByTarget(gateway, attempt, promptOf(attempt, BASE + text), bytes),
  ]);
  if (base === null || whole === null) return null;
  const count = whole - base;
  return count > 0 && count <= bytes ? count : null;
}

function promptOf({ admitted }: OpenAttempt, content: string): MessageRequest {
  const body = { model: admitted.offer.model.name, max_tokens: 1, messages: [{ role: 'user', content }] };
  return parseMessageRequest(Buffer.from(JSON.stringify(body)));
}

/** By the provider that answered, if it can count; otherwise by the tokenizer. null: nobody could count it in time. */
export async function countPromptAfterEnd(
  gateway: Gateway,
  attempt: OpenAttempt,
  request: MessageRequest,
): Promise<number | null> {
  const { caller, plan } = attempt.admitted;
  const counted = await countByTarget(gateway, attempt, request, plan.measure.textBytes);
  if (counted !== null) return counted;
  const model = attempt.target.route.upstreamModel;
  const media = await readMedia(request, model);
  if (media === null) return null;
  const { texts: mediaTexts, tokens: mediaTokens } = media;
  return countPromptLocally(gateway.tokenizer, { account: caller.account.id, model, request, mediaTexts, mediaTokens });
}

async function countByTarget(
  gateway: Gateway,
  attempt: OpenAttempt,
  request: MessageRequest,
  textBytes: number,
): Promise<number | null> {
  const { caller, clientRequest } = attempt.admitted;
  const { target } = attempt;
  if (!gateway.counting.takeAfterEnd(topOf(caller))) return null;
  try {
    const provider = providerOfKind(gateway, target.settings);
    const signal = AbortSignal.timeout(bounds.countAfterEndMsMax);
    const counting = makeAttempt({ request, clientRequest, maxTokens: 1 }, target, signal, clientRequest.trace);
    const count = await provider.countTokens(counting);
    if (count === null || !isCredible(count, textBytes)) return null;
    gateway.counting.noteCounter(target.settings.name);
    return count;
  } catch {
    return null; // the tokenizer counts instead
  } finally {
    gateway.counting.giveBack(topOf(caller));
  }
}

const BYTES_PER_TOKEN_MOST = 64;

/** A counter that reports next to nothing for a long prompt is broken. */
function isCredible(count: number, textBytes: number): boolean {
  return count > 0 && count <= bounds.usageTokensMax && count >= textBytes / BYTES_PER_TOKEN_MOST;
}
