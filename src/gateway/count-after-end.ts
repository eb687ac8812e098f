// Counts what the provider of a message did not report, after its end: by the provider's own free counter, otherwise by a
// tokenizer. The hold stays until the count is made; without one, the upper bound is billed.

import { machineTimers, sleep } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { countPromptLocally, familyOf } from '../tokenizer/tokenizer.ts';
import { type MadeCounts, NOTHING_COUNTED, readMedia } from '../usage/usage.ts';
import { type MessageRequest, parseMessageRequest } from '../wire/wire.ts';
import { makeAttempt, providerOfKind } from './attempts.ts';
import type { Gateway } from './dependencies.ts';
import type { OpenMessage } from './open-message.ts';

/** Makes the counts that the bill lacks. Never rejects; a promise only if something must be counted. */
export function countAfterEnd(gateway: Gateway, message: OpenMessage): MadeCounts | Promise<MadeCounts> {
  if (!lacks(message, NOTHING_COUNTED)) return NOTHING_COUNTED;
  const { recountPausesMs } = gateway.waits ?? bounds;
  const isStopping = message.stopReason === 'draining'; // a stop does not wait
  return countRepeatedly(gateway, message, isStopping ? [0] : [0, ...recountPausesMs]);
}

/** Counts again, in long pauses, what a bill by the upper bound lacks; null if that is not possible. Never rejects. */
export async function countForCorrection(gateway: Gateway, message: OpenMessage): Promise<MadeCounts | null> {
  const { correctionPausesMs } = gateway.waits ?? bounds;
  const made = await countRepeatedly(gateway, message, correctionPausesMs);
  return lacks(message, made) ? null : made;
}

/** Whether the bill needs a count that is not made. */
export function lacks({ counter, maxTokens, uncountedPrompt }: OpenMessage, made: MadeCounts): boolean {
  if (made.output === null && counter.uncountedTexts(maxTokens) !== null) return true;
  return made.prompt === null && uncountedPrompt !== null && counter.reportedPrompt() === null;
}

async function countRepeatedly(
  gateway: Gateway,
  message: OpenMessage,
  pausesMs: readonly number[],
): Promise<MadeCounts> {
  let made = NOTHING_COUNTED;
  for (const pauseMs of pausesMs) {
    if (pauseMs > 0) await sleep(machineTimers, pauseMs);
    // A count that fails is not made: the bill must not depend on what a client sent.
    made = await makeCounts(gateway, message, made).catch(() => made);
    if (!lacks(message, made)) break;
  }
  return made;
}

async function makeCounts(gateway: Gateway, message: OpenMessage, before: MadeCounts): Promise<MadeCounts> {
  const { counter, uncountedPrompt, maxTokens } = message;
  const texts = before.output === null ? counter.uncountedTexts(maxTokens) : null;
  const [prompt, text, thinking] = await Promise.all([
    before.prompt !== null || uncountedPrompt === null || counter.reportedPrompt() !== null
      ? before.prompt
      : countPromptAfterEnd(gateway, message, uncountedPrompt),
    texts === null ? null : countText(gateway, message, texts.text),
    texts === null ? null : countText(gateway, message, texts.thinking),
  ]);
  return { prompt, output: text === null || thinking === null ? before.output : { text, thinking } };
}

/**
 * Counts by the model's own vocabulary, else by the provider that answered if it has counted before, else by the nearest
 * vocabulary. null: no count could be made.
 */
async function countText(gateway: Gateway, message: OpenMessage, text: string): Promise<number | null> {
  if (text === '') return 0;
  const { attempt, caller, stopReason } = message;
  const provider = attempt === null ? null : providerOfKind(gateway, attempt.target.settings);
  const exact = provider?.countTextLocally?.(text) ?? null;
  if (exact !== null) return exact;
  const model = modelOf(message);
  const isCounter = attempt !== null && gateway.counting.isCounter(attempt.target.settings.name);
  const isAsked = isCounter && !familyOf(model).isExact && stopReason !== 'draining'; // a stop does not wait
  const counted = isAsked ? await countTextByTarget(gateway, message, text).catch(() => null) : null;
  return counted ?? gateway.tokenizer.count({ account: caller.account.id, model, texts: [text] });
}

const BASE = '.'; // providers refuse a prompt that is empty or white space

/** The difference that the text makes to a prompt. */
async function countTextByTarget(gateway: Gateway, message: OpenMessage, text: string): Promise<number | null> {
  const bytes = Buffer.byteLength(text);
  const [base, whole] = await Promise.all([
    countByTarget(gateway, message, promptOf(message, BASE), 0),
    countByTarget(gateway, message, promptOf(message, BASE + text), bytes),
  ]);
  if (base === null || whole === null) return null;
  const count = whole - base;
  return count > 0 && count <= bytes ? count : null;
}

function promptOf({ offer }: OpenMessage, content: string): MessageRequest {
  const body = { model: offer.model.name, max_tokens: 1, messages: [{ role: 'user', content }] };
  return parseMessageRequest(Buffer.from(JSON.stringify(body)));
}

/** By the provider that answered, if it can count; otherwise by the tokenizer. null: nobody could count it in time. */
export async function countPromptAfterEnd(
  gateway: Gateway,
  message: OpenMessage,
  request: MessageRequest,
): Promise<number | null> {
  const { caller } = message;
  const counted = await countByTarget(gateway, message, request, message.plan.measure.textBytes);
  if (counted !== null) return counted;
  const model = modelOf(message);
  const media = await readMedia(request, model);
  if (media === null) return null;
  const { texts: mediaTexts, tokens: mediaTokens } = media;
  return countPromptLocally(gateway.tokenizer, { account: caller.account.id, model, request, mediaTexts, mediaTokens });
}

async function countByTarget(
  gateway: Gateway,
  message: OpenMessage,
  request: MessageRequest,
  textBytes: number,
): Promise<number | null> {
  const { attempt, caller, clientRequest } = message;
  if (attempt === null || !gateway.counting.takeAfterEnd(caller.account.id)) return null;
  try {
    const provider = providerOfKind(gateway, attempt.target.settings);
    const signal = AbortSignal.timeout(bounds.countAfterEndMsMax);
    const counting = makeAttempt({ request, clientRequest, maxTokens: 1 }, attempt.target, signal, clientRequest.trace);
    const count = await provider.countTokens(counting);
    if (count === null || !isCredible(count, textBytes)) return null;
    gateway.counting.noteCounter(attempt.target.settings.name);
    return count;
  } catch {
    return null; // the tokenizer counts instead
  } finally {
    gateway.counting.giveBack(caller.account.id);
  }
}

const BYTES_PER_TOKEN_MOST = 64;

/** A counter that reports next to nothing for a long prompt is broken. */
function isCredible(count: number, textBytes: number): boolean {
  return count > 0 && count <= bounds.usageTokensMax && count >= textBytes / BYTES_PER_TOKEN_MOST;
}

function modelOf({ route, offer }: OpenMessage): string {
  return route?.upstreamModel ?? offer.model.name;
}
