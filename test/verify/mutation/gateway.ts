// Guards of a message's money in the gateway: holds against usage, the bill, and errors that clients get before the
// bill is known.

import { mutate } from './mutation.ts';

const AHEAD = 'if (used <= this.#coveredTokens - this.#aheadTokens(used)) return null;';
const CORRECT = 'this.#prompt !== null && ahead < this.#held;';
const PROMISED = 'if (!settled.ok) end = errorEvent(message, endedElsewhere());\n    else end =';

const streamHolds = mutate('src/gateway/stream-hold.ts', [
  [
    'cover-ahead',
    'a stream hold is extended before it is exhausted',
    AHEAD,
    'if (used <= this.#coveredTokens) return null;',
  ],
  ['cover-asks', 'a stream hold is extended', 'if (isExtendedNow) this.#startExtending(used);', ''],
  [
    'cover-asks-once',
    'only one extension is requested at a time',
    'const isExtendedNow = this.#extending === null && !(isCovered && this.#isShort);',
    'const isExtendedNow = !(isCovered && this.#isShort);',
  ],
  [
    'cover-short',
    'a refused extension is not repeated until the stream needs it',
    'this.#extending === null && !(isCovered && this.#isShort)',
    'this.#extending === null',
  ],
  ['cover-flows', 'covered output is relayed without waiting for the ledger', 'if (isCovered) return null;', ''],
  ['cover-ends', 'output beyond the hold is not relayed', 'if (used > this.#coveredTokens) return false;', ''],
  [
    'cover-asks-anew',
    'a stream that needs more than its last extension requests another',
    'if (this.#extending === null) this.#startExtending(used);',
    '',
  ],
  [
    'cover-waits',
    'a stream waits for a silent store only up to the limit',
    'return within(machineTimers, this.#message.settleWaitMs, this.#decide(used, isExtendedNow), storeIsSilent);',
    'return this.#decide(used, isExtendedNow);',
  ],
  [
    'cover-tries-again',
    'a short outage of the store does not end a stream',
    'if (this.#isClosed || !isStoreUnavailable(failure) || performance.now() + pauseMs > untilMs) throw failure;',
    'throw failure;',
  ],
  [
    'cover-gives-up',
    'a lasting outage of the store ends the stream',
    '!isStoreUnavailable(failure) || performance.now() + pauseMs > untilMs) throw failure;',
    '!isStoreUnavailable(failure)) throw failure;',
  ],
  [
    'cover-tranche',
    'no more is held than the next tranche',
    'Math.min(used + plan.trancheTokens, maxTokens)',
    'maxTokens',
  ],
  [
    'cover-end',
    'no more is held than the message may have',
    'Math.min(used + plan.trancheTokens, maxTokens)',
    'used + plan.trancheTokens',
  ],
  [
    'cover-end-asked',
    'at its end a message asks for no more',
    'Math.min(Math.ceil(plan.trancheTokens / 2), Math.max(0, maxTokens - used))',
    'Math.ceil(plan.trancheTokens / 2)',
  ],
  ['correct-never-raises', 'a correction never raises a hold', CORRECT, 'this.#prompt !== null;'],
  ['correct-lowers', 'excess of a hold is returned', CORRECT, 'false as boolean;'],
  [
    'correct-lost',
    "returned money covers no output, even if the ledger's response is lost",
    "if (amount !== 'same') this.#holds(amount);",
    '',
  ],
  [
    'correct-poor',
    'with little money, the excess of a hold is returned at once',
    'if (this.#isPoor) this.#correct(null);',
    '',
  ],
  [
    'cover-prompt',
    "the hold is corrected to the provider's prompt count",
    'this.#prompt = this.#message.counter.reportedPrompt();',
    '',
  ],
  ['checkpoint', 'checkpoints are written', 'this.#correct(this.#message.checkpoint());', 'this.#correct(null);'],
  [
    'checkpoint-changed',
    'a checkpoint that has not changed is not written',
    'if (this.#usedTokens() !== this.#checkpointedTokens && !this.#isWriting)',
    'if (!this.#isWriting)',
  ],
  [
    'checkpoint-alone',
    'one checkpoint is written at a time',
    'if (this.#usedTokens() !== this.#checkpointedTokens && !this.#isWriting)',
    'if (this.#usedTokens() !== this.#checkpointedTokens)',
  ],
  [
    'checkpoint-again',
    'a checkpoint that was not written is written at the next look',
    '.catch(() => {\n        this.#checkpointedTokens = NOT_WRITTEN;\n      })',
    '.catch(() => {})',
  ],
  [
    'look-of-this',
    'the money that a stream wanted which was given up ends no other',
    'counter === this.#message.counter && !counter.isFinal && !this.#isClosed',
    '!counter.isFinal && !this.#isClosed',
  ],
  [
    'rewind-checkpoint',
    'the checkpoint of an abandoned attempt is withdrawn',
    '    if (this.#hasCheckpoint) this.#writeCheckpoint();\n',
    '',
  ],
  [
    'begin-checkpoint',
    'a stream that used as much as the one before it has a checkpoint of its own',
    'this.#checkpointedTokens = NOT_WRITTEN; // a failed',
    '// a failed',
  ],
  [
    'look-stops',
    'invisible output beyond the hold is stopped',
    'this.#message.stopForMoney();\n  }\n\n  #writeCheckpoint',
    '}\n\n  #writeCheckpoint',
  ],
  [
    'look-closed',
    'an ended message is no longer checked',
    'if (this.#isClosed) return;\n    const { counter }',
    'const { counter }',
  ],
  [
    'cover-elsewhere',
    'a stream whose hold was ended elsewhere is stopped',
    'this.#message.stopElsewhere();\n      throw',
    'throw',
  ],
  [
    'cover-closed',
    'answers after the end of a message have no effect',
    'if (this.#isClosed) return;\n    if (!answer.ok)',
    'if (!answer.ok)',
  ],
  ['cover-grows', 'what was given covers more', 'this.#holds(answer.amount);', ''],
  [
    'payable-share',
    'the last events are sent only as far as they are paid for',
    'return came <= 0 ? 1 :',
    'return came <= Number.POSITIVE_INFINITY ? 1 :',
  ],
  [
    'payable-share-given',
    'output that was covered before does not count as new',
    'if (isCovered) this.#givenTokens = used;',
    '',
  ],
]);

const messages = mutate('src/gateway/open-message.ts', [
  [
    'cut-billed',
    'a message with a lowered max_tokens that reaches it stores no response for its idempotency key',
    'if (this.isCutByMoney) return this.endForMoney();',
    '',
  ],
  [
    'left-money',
    'a message without money stores no response for its idempotency key',
    "if (this.stopReason === 'money') await this.endForMoney(status);\n    else if (this.hasDisconnected) await this.complete();",
    "if (this.hasDisconnected) await this.complete();\n    else if (this.stopReason === 'money') await this.endForMoney(status);",
  ],
  [
    'broken-billed',
    'a message without money is billed at the covered amount',
    "if (this.stopReason === 'money') await this.endForMoney(status);\n    else if",
    'if',
  ],
  [
    'unsaid-billed',
    'invisible output before the first text is billed',
    "    else if (this.counter.started) await this.cutShort(error, error.status, 'service_cut');\n",
    '',
  ],
  [
    'end-once',
    'a message ends once',
    'this.#ending ??= this.#settle(outcome, status, error);',
    'this.#ending = this.#settle(outcome, status, error);',
  ],
  [
    'answer-whole',
    'an interrupted stream stores no response for its idempotency key',
    "record.outcome === 'completed' || (record.outcome === 'client_gone' && answer.isWhole)",
    "record.outcome !== 'failed'",
  ],
  [
    'answer-left',
    'a stream read to its end after a disconnect stores its response',
    "record.outcome === 'completed' || (record.outcome === 'client_gone' && answer.isWhole)",
    "record.outcome === 'completed'",
  ],
  [
    'lowered',
    'no more unseen output is asked for than can be paid',
    'payableMaxTokens(plan, offer, admitted.available)',
    'plan.maxTokens',
  ],
  [
    'uncounted-waited-for',
    'a message that fits once running prompts are counted is not refused',
    'if (this.#isUncounted) gateway.admissions.hold(caller.account.id);',
    '',
  ],
]);

const bills = mutate('src/gateway/message-record.ts', [
  [
    'bill-refusal',
    'a refusal that the provider does not bill costs nothing',
    "cost: source === 'none' || isUnbilled ? 0 :",
    "cost: source === 'none' ? 0 :",
  ],
]);

const attempts = mutate('src/gateway/attempts.ts', [
  [
    'begin-whole',
    'a stream that arrives at once uses the prompt count reported with it',
    'if (isBegin) message.beginStream();',
    'if (isBegin && !message.counter.finished) message.beginStream();',
  ],
  ['rewind', 'what began at a route that failed is not counted for the next', '      message.rewind();\n', ''],
  [
    'rewind-over',
    'invisible output up to the end of a message is billed',
    'if (isOver(message) || message.isUnusable) break;',
    'if (isOver(message) || message.isUnusable) {\n        message.rewind();\n        break;\n      }',
  ],
]);

const relays = mutate('src/gateway/relay.ts', [
  ['stop-after-ended', 'a message that another ended has no clean end', PROMISED, 'end ='],
  [
    'stop-after-billed',
    'the last event waits until the message is billed',
    'let settled = await quick.for(settling);',
    'let settled = await quick.for(Promise.race([settling, { ok: true, cost: 0, writtenOff: 0 } as const]));',
  ],
  [
    'stop-after-failure',
    'a message that could not be billed has no clean end',
    'end = errorEvent(message, asTurnpikeError(failure)); // the answer',
    'end = encodeEvent(arrived[stopIndex] as StreamEvent); // the answer',
  ],
  ['cut-told', 'who had less than he asked for is told so', 'isCut ? errorEvent(message, moneyError()) :', ''],
  [
    'cut-unfinished',
    'a message with a lowered max_tokens that reaches it has no regular end',
    ".filter((event) => !isCut || event.name !== 'message_delta')",
    '',
  ],
  [
    'relay-covered',
    'output beyond the hold ends the stream',
    'if (covering !== null && !(yield* mayGoOn(message, wait, covering))) {',
    'if (covering === undefined) {',
  ],
  [
    'relay-part',
    'of the last events, only the paid part is sent',
    'encode(payablePart(message, arrived)));\n        message.stopForMoney();',
    'encode(arrived));\n        message.stopForMoney();',
  ],
  [
    'relay-whole',
    'a complete answer whose cost was unforeseeable is sent',
    'return !(counter.isFinal || counter.finished) || isForeseen;',
    'return true;',
  ],
  [
    'relay-foreseen',
    'a complete answer whose cost was foreseeable is not sent beyond the hold',
    'return !(counter.isFinal || counter.finished) || isForeseen;',
    'return !counter.finished;',
  ],
  [
    'finish-covered',
    'reading after a disconnect ends when the money is exhausted',
    'if (covering !== null && !(await covering) && endsForMoney(message)) {',
    'if (covering === undefined) {',
  ],
  [
    'finish-whole',
    'a stream that arrives at once after a disconnect is covered, too',
    'for (;;) {\n      const covering = message.streamHold?.see() ?? null;',
    'for (;;) {\n      const covering = message.counter.finished ? null : (message.streamHold?.see() ?? null);',
  ],
  [
    'relay-cut',
    'a stream that was cut has no regular end, even if its last event arrived',
    'if (message.counter.finished && message.hasEnded) {',
    'if (message.counter.finished && message.hasDisconnected) {',
  ],
  [
    'relay-broken',
    'a stream that broke off has no clean end',
    "if (arrived === null) throw new ProviderFault('failed', 'the stream ended before the message was complete');",
    'if (arrived === null) return;',
  ],
  [
    'cut-of-reader',
    'a stream that its client let its provider give up is no failure of the provider',
    "return watch.isBehind ? 'client_gone' : 'upstream_cut';",
    "return 'upstream_cut';",
  ],
  [
    'relay-pauses',
    'waiting for the client is told apart from waiting for the provider',
    'this.#message.watch.pause(nowMs);',
    '',
  ],
  [
    'relay-plain-covered',
    'deltas beyond the hold are not forwarded',
    'if (covering === null) {\n        this.#give(',
    'if (covering !== undefined) {\n        this.#give(',
  ],
]);

const plans = mutate('src/gateway/plan-message.ts', [
  [
    'prompt-worst-case',
    'a hold covers the worst case of an uncounted prompt',
    ': Math.min(inputTokensUpperBound(measure), windowTokens);',
    ': measure.typicalTokens;',
  ],
  [
    'prompt-fetches',
    'a hold covers what tools of the provider add to the prompt',
    'const added = fetchedTokensMax(features);',
    'const added = 0;',
  ],
  [
    'prompt-unreadable',
    'a hold covers the window for a document that cannot be read',
    'const isReadable = isCounted || measure.isBounded;',
    'const isReadable = true;',
  ],
  [
    'prompt-count-believed',
    'a count below what any text has is not believed',
    'return counted >= textBytes / TEXT_BYTES_PER_TOKEN_MAX;',
    'return true;',
  ],
]);

const watches = mutate('src/gateway/silence-watch.ts', [
  [
    'paused-left-out',
    'the time limit of a stream leaves out the time in which its client is waited for',
    'passed(this.#attemptSinceMs, nowMs) - (pausedMs - this.#pausedBeforeMs)',
    'passed(this.#attemptSinceMs, nowMs)',
  ],
  [
    'client-bound',
    'a client is not waited for without end',
    'if (pausedMs >= clientMs && !this.#isFinished) {',
    'if (pausedMs < 0) {',
  ],
  [
    'heard-again',
    'a provider that was waited for again is alive',
    'this.#isBehind = this.#awaitedMs < CAUGHT_UP_MS;',
    '',
  ],
]);

const bindings = mutate('src/gateway/targets.ts', [
  [
    'bound-elsewhere',
    'thinking that must not be lost is sent to no other customer of a provider',
    'one.route.provider === other.route.provider && one.credential?.name === other.credential?.name',
    'one.route.provider === other.route.provider',
  ],
  [
    'bound-healthy',
    'a conversation with bound thinking stays with its own target while that does not answer',
    'const [home] = orderTargets(targets, { health: ALL_WELL, drawOf, kept });',
    'const [home] = inOrder;',
  ],
]);

const owned = mutate('src/gateway/gateway.ts', [
  [
    'selectors-owned',
    'headers that select an object of the provider’s customer need a credential of the account',
    'if (storedObject === null && selector === undefined) return offer;',
    'if (storedObject === null) return offer;',
  ],
]);

export const gatewayMutations = [
  ...bindings,
  ...owned,
  ...streamHolds,
  ...messages,
  ...bills,
  ...attempts,
  ...relays,
  ...plans,
  ...watches,
];
