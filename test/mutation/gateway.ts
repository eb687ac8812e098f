// The guards of a message's money in the gateway: what it holds against what it has used, what it is billed for, and
// what its caller is told before that is known.

import { mutate } from './mutation.ts';

const AHEAD = 'if (used <= this.#coveredTokens - this.#aheadTokens(used)) return null;';
const CORRECT = "this.#asking === null && ahead < this.#held ? ahead : 'same'";
const PROMISED = 'if (!settled.ok) end = errorEvent(message, endedElsewhere());\n    else end =';

const covers = mutate('src/gateway/cover.ts', [
  ['cover-ahead', 'more is asked for ahead of need', AHEAD, 'if (used <= this.#coveredTokens) return null;'],
  ['cover-asks', 'more is asked for at all', 'if (isAskedNow) this.#startAsking(used);', ''],
  [
    'cover-asks-once',
    'one extension is asked for at a time',
    'const isAskedNow = this.#asking === null && !(isCovered && this.#isShort);',
    'const isAskedNow = !(isCovered && this.#isShort);',
  ],
  [
    'cover-short',
    'what was short is not asked for again before it is needed',
    'this.#asking === null && !(isCovered && this.#isShort)',
    'this.#asking === null',
  ],
  ['cover-flows', 'what is covered waits for nobody', 'if (isCovered) return null;', ''],
  ['cover-ends', 'what is not covered is not given out', 'if (used > this.#coveredTokens) return false;', ''],
  [
    'cover-asks-anew',
    'who needs more than the last extension was asked for asks once more',
    'if (this.#asking === null) this.#startAsking(used); // the last was asked before this was used',
    '',
  ],
  [
    'cover-waits',
    'a silent store is waited for so long, and not longer',
    'return within(machineTimers, this.#message.settleWaitMs, this.#decide(used, isAskedNow), storeIsSilent);',
    'return this.#decide(used, isAskedNow);',
  ],
  [
    'cover-tries-again',
    'a store that is gone for a moment ends no stream',
    'if (this.#isClosed || !isStoreGone(failure) || performance.now() + pauseMs > untilMs) throw failure;',
    'throw failure;',
  ],
  [
    'cover-gives-up',
    'a store that stays gone ends the stream',
    '!isStoreGone(failure) || performance.now() + pauseMs > untilMs) throw failure;',
    '!isStoreGone(failure)) throw failure;',
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
  ['correct-never-raises', 'a correction never raises what is held', CORRECT, "this.#asking === null ? ahead : 'same'"],
  ['correct-lowers', 'what is held too much is given back', CORRECT, "'same' as number | 'same'"],
  [
    'correct-lost',
    'what was given back covers nothing, also where the answer is lost',
    "if (amount !== 'same') this.#holds(amount);",
    '',
  ],
  [
    'correct-poor',
    'where money is short, what is held too much is given back at once',
    'if (this.#isPoor) this.#correct(null);',
    '',
  ],
  [
    'cover-prompt',
    'what is held for the prompt is corrected to what the provider counted',
    'this.#prompt = this.#message.counter.reportedPrompt();',
    '',
  ],
  [
    'checkpoint',
    'what a crash would bill is written down',
    'this.#correct(this.#message.checkpoint());',
    'this.#correct(null);',
  ],
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
    '!isCovered && isOfThisStream && !this.#isClosed',
    '!isCovered && !this.#isClosed',
  ],
  [
    'rewind-checkpoint',
    'what a crash would bill of a stream that was given up is taken back',
    '    if (this.#hasCheckpoint) this.#writeCheckpoint();\n',
    '',
  ],
  [
    'begin-checkpoint',
    'a stream that used as much as the one before it has a checkpoint of its own',
    'this.#checkpointedTokens = NOT_WRITTEN; // what another',
    '// what another',
  ],
  [
    'look-stops',
    'what is produced unseen beyond the money is stopped',
    'if (!isCovered && isOfThisStream && !this.#isClosed) this.#message.stopForMoney();',
    '',
  ],
  [
    'look-closed',
    'what has ended is looked at no more',
    'if (this.#isClosed) return;\n    const { counter }',
    'const { counter }',
  ],
  [
    'cover-elsewhere',
    'a stream whose hold another ended is stopped',
    'this.#message.stopElsewhere();\n      throw',
    'throw',
  ],
  [
    'cover-closed',
    'what comes after the end stops nothing',
    'if (this.#isClosed) return;\n    if (!answer.ok)',
    'if (!answer.ok)',
  ],
  ['cover-grows', 'what was given covers more', 'this.#holds(answer.amount);', ''],
  [
    'payable-share',
    'of what came at the end no more is given out than is paid for',
    'return came <= 0 ? 1 :',
    'return came <= Number.POSITIVE_INFINITY ? 1 :',
  ],
  [
    'payable-share-given',
    'what was covered before is not given out again',
    'if (isCovered) this.#givenTokens = used;',
    '',
  ],
]);

const messages = mutate('src/gateway/open-message.ts', [
  [
    'left-money',
    'what the money ended is no answer to who left',
    "if (this.stopReason === 'money') await this.endForMoney(status);\n    else if (this.callerHasLeft) await this.complete();",
    "if (this.callerHasLeft) await this.complete();\n    else if (this.stopReason === 'money') await this.endForMoney(status);",
  ],
  [
    'broken-billed',
    'what the money ended is billed as what it covered',
    "if (this.stopReason === 'money') await this.endForMoney(status);\n    else if",
    'if',
  ],
  [
    'unsaid-billed',
    'what was produced before the first word is billed',
    '    if (this.counter.started) return this.cutShort(error, error.status, false);\n',
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
    'what was broken off is no answer to its claim',
    "record.outcome === 'completed' || (record.outcome === 'client_gone' && answer.isWhole)",
    "record.outcome !== 'failed'",
  ],
  [
    'answer-left',
    'what was read to its end for who left is the answer to his claim',
    "record.outcome === 'completed' || (record.outcome === 'client_gone' && answer.isWhole)",
    "record.outcome === 'completed'",
  ],
  [
    'lowered',
    'no more unseen output is asked for than can be paid',
    'payableMaxTokens(plan, offer, admitted.available)',
    'plan.maxTokens',
  ],
]);

const bills = mutate('src/gateway/billed-usage.ts', [
  [
    'bill-covered',
    'what money ended is billed no higher than what was covered',
    "return { ...usage, counts: { ...counts, output: coveredTokens }, source: 'estimated' };",
    'return usage;',
  ],
  [
    'bill-cut',
    'what the service ended while it waited for its cover is billed no higher than what was covered',
    "if (message.cover === null || outcome === 'completed') return usage;",
    "if (message.cover === null || use === 'billed') return usage;",
  ],
  [
    'bill-reported-left',
    'what is read to its end for who left is billed as reported',
    "if (use === 'billed' && (thinks || source === 'reported')) return usage;",
    '',
  ],
  [
    'bill-reported',
    'unseen output that was reported is billed as reported',
    "if (counts.output <= coveredTokens || (source === 'reported' && thinks)) return usage;",
    'if (counts.output <= coveredTokens) return usage;',
  ],
  [
    'bill-seen',
    'seen output beyond what was covered is not billed, whatever was reported',
    "(source === 'reported' && thinks)",
    "source === 'reported'",
  ],
  [
    'bill-left',
    'who left pays for the prompt that was worked on',
    "return { ...usage, counts: { ...NO_TOKENS, input: inputEstimate }, source: 'estimated' };",
    'return usage;',
  ],
]);

const attempts = mutate('src/gateway/attempts.ts', [
  [
    'begin-whole',
    'a stream that comes whole is covered by the prompt that was reported with it',
    'if (isBegin) message.beginStream();',
    'if (isBegin && !message.counter.finished) message.beginStream();',
  ],
  ['rewind', 'what began at a route that failed is not counted for the next', '      message.rewind();\n', ''],
  [
    'rewind-over',
    'what was produced unseen until the message was ended is billed',
    'if (isOver(message)) break;',
    'if (isOver(message)) {\n        message.rewind();\n        break;\n      }',
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
    'who had less than he asked for does not see the end of the whole',
    ".filter((event) => !isCut || event.name !== 'message_delta')",
    '',
  ],
  [
    'cut-billed',
    'who had less than he asked for has no answer to his claim',
    'isCut ? message.endForMoney() : message.complete()',
    'message.complete()',
  ],
  [
    'relay-covered',
    'what is not covered ends the stream',
    'if (covering !== null && !(yield* patiently(message, wait, covering)) && endsForMoney(message)) {',
    'if (covering === undefined) {',
  ],
  [
    'relay-part',
    'of the events that the money ends in only what is paid for is given out',
    'encode(payablePart(message, arrived)));\n        message.stopForMoney();',
    'encode(arrived));\n        message.stopForMoney();',
  ],
  [
    'relay-whole',
    'what is whole and could not be foreseen is given out',
    'return !counter.finished || isForeseen;',
    'return true;',
  ],
  [
    'relay-foreseen',
    'what could be foreseen is not given out because it is whole',
    'return !counter.finished || isForeseen;',
    'return !counter.finished;',
  ],
  [
    'finish-covered',
    'what is read for who left ends with the money as well',
    'if (covering !== null && !(await covering) && endsForMoney(message)) {',
    'if (covering === undefined) {',
  ],
  [
    'finish-whole',
    'what comes whole for who left is covered as well',
    'for (;;) {\n      const covering = message.cover?.see() ?? null;',
    'for (;;) {\n      const covering = message.counter.finished ? null : (message.cover?.see() ?? null);',
  ],
  [
    'relay-cut',
    'what was cut meanwhile has no clean end, though its end has come',
    'if (message.counter.finished && message.hasEnded) {',
    'if (message.counter.finished && message.callerHasLeft) {',
  ],
  [
    'relay-broken',
    'a stream that broke off has no clean end',
    "if (arrived === null) throw new ProviderFault('failed', 'the stream ended before the message did');",
    'if (arrived === null) return;',
  ],
]);

export const gatewayMutations = [...covers, ...messages, ...bills, ...attempts, ...relays];
