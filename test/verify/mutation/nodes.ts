// The guards of a node: its queues, what it remembers, its endings that outlast the store, its lease.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what is looked for is code as it stands

import { mutate } from './mutation.ts';

const nodes = mutate('src/ledger/node-ledger.ts', [
  ['lost-lease', 'a node whose lease is lost admits nothing', 'this.#owner = null;\n', ';\n'],
  [
    'lost-lease-old',
    'a refusal of an old lease says nothing of the new',
    ' && operation.owner.epoch === this.#owner?.epoch',
    '',
  ],
  [
    'credit-heard',
    'a credit is heard of at once',
    'if (bundle.operations.some(givesBack)) this.#refusals.forgetAll();',
    '',
  ],
  [
    'extension-forgets-nothing',
    'an extension keeps remembered refusals',
    "return operation.kind !== 'extend';",
    'return true;',
  ],
  [
    'leaving-heard',
    'a leaving is heard of at once',
    'const forget = () => this.#refusals.forget(account, key, group);',
    'const forget = () => {};',
  ],
  [
    'locked-no-outage',
    'an account that somebody else has locked says nothing of the store',
    'if (failure instanceof LockedForLong) return;',
    '',
  ],
  ['claim-told', 'whose claim it is is told', 'if (isIdempotencyRefusal(answer)) return answer;', ''],
  [
    'renew-before-expire',
    'a node that was suspended renews its lease before it ends others',
    '[{ ...renewal, unlessLapsed: this.#hasPeers }, this.#expiry()]',
    '[this.#expiry(), { ...renewal, unlessLapsed: this.#hasPeers }]',
  ],
  [
    'renew-expires',
    'a node ends the holds of lapsed nodes',
    'mayExpire ? [{ ...renewal, unlessLapsed: this.#hasPeers }, this.#expiry()] : [renewal]',
    '[renewal]',
  ],
  [
    'renew-unless-lapsed',
    'time that leapt ends nothing of nodes that are well',
    'unlessLapsed: this.#hasPeers',
    'unlessLapsed: false',
  ],
  [
    'renew-own',
    'a node keeps its epoch as long as its lease stands',
    "{ kind: 'renew', node, epoch, leaseMs",
    "{ kind: 'renew', node, epoch: null, leaseMs",
  ],
  [
    'expire-steady',
    'after an outage, a node ends no holds before other nodes could renew their leases',
    'const mayExpire = !this.#hasPeers || this.#isSteady();',
    'const mayExpire = true;',
  ],
  [
    'expire-gap',
    'a store that was away for a while has every node wait anew',
    'if (nowMs - this.#renewals.lastMs >= GAP_MS) this.#renewals.sinceMs = nowMs;',
    '',
  ],
  [
    'open-spares-peers',
    'a node that starts ends nothing of its peers before they could renew their leases',
    'return this.#hasPeers ? 0 : this.#expire(',
    'return this.#expire(',
  ],
  [
    'renew-lost',
    'a lease that was lost is taken anew',
    'if (renewed?.ok !== true) return await this.#takeLease();',
    '',
  ],
  [
    'renew-missing',
    'a node without a lease takes one',
    'if (this.#owner === null) return await this.#takeLease();',
    'if (this.#owner === null) return;',
  ],
  [
    'renew-tells-epoch',
    'a node admits under the epoch that it was given last',
    "if (answer.ok && answer.kind === 'lease') this.#owner = { node: this.#node, epoch: answer.epoch };",
    "if (answer.ok && answer.kind === 'lease') this.#owner ??= { node: this.#node, epoch: answer.epoch };",
  ],
  ['expire-heard', 'what was ended for others is heard of at once', 'if (holds > 0) this.#refusals.forgetAll();', ''],
  [
    'stop-waits',
    'a node that stops waits for its endings',
    'await within(this.#timers, boundMs, this.#messages.finish(), storeIsSilent).catch(() => {});',
    '',
  ],
  [
    'back-when-written',
    'a store counts as back when it has written',
    'isWrite(operation) && answers[at]?.ok',
    'answers[at]?.ok',
  ],
  [
    'back-when-ok',
    'a store does not count as back for a refusal',
    'isWrite(operation) && answers[at]?.ok',
    'isWrite(operation)',
  ],
  ['store-noted', 'a store that fails is noted', 'if (isStoreUnavailable(failure)) this.#note(failure);', ''],
  [
    'open-ends',
    'a start ends the holds of an earlier run',
    'this.#expire(await this.#ask(this.#expiry()));',
    "this.#expire(await this.#ask({ kind: 'leave', requestId: '' }));",
  ],
]);

const queues = mutate('src/ledger/queued-ledger.ts', [
  ['queue-bound', 'the queue as a whole is bounded', 'this.#queued >= bounds.ledgerQueueMax ||', ''],
  [
    'queue-of-account',
    "one account's share of the queue is bounded",
    '|| queued >= bounds.ledgerQueuePerAccountMax',
    '',
  ],
  ['queue-left', 'who was answered leaves the queue', 'this.#queued--;', ''],
  [
    'decided-before-credit',
    'a refusal decided before a credit is not remembered after it',
    ' && this.#refusals.timesForgotten === timesForgotten',
    '',
  ],
  [
    'ending-heard',
    'an ending is heard of at once',
    'const { account, key, group } = operation.record;\n    this.#refusals.forget(account, key, group);',
    '',
  ],
  ['refusal-remembered', 'a refusal is given again without asking', 'if (remembered !== null) return remembered;', ''],
  [
    'doubt',
    'an admission whose answer is lost leaves no hold',
    "if (operation.kind === 'admit' && !(failure instanceof NothingTaken)) this.#doubtful.add(operation);",
    '',
  ],
  [
    'doubt-known',
    'an admission that certainly failed is not repeated',
    ' && !(failure instanceof NothingTaken)) this.#doubtful',
    ') this.#doubtful',
  ],
  [
    'doubt-bound',
    'admissions in doubt are bounded',
    'if (this.#doubtful.isFullWith(this.#queued)) throw storeIsSilent();',
    '',
  ],
  [
    'admission-waits',
    'an admission waits so long for a silent store, and not longer',
    'await within(this.#timers, bounds.admissionWaitMsMax, this.#ask(operation), storeIsSilent)',
    'await this.#ask(operation)',
  ],
  ['silence-noted', 'a store that is silent counts as one that fails', 'this.#note(failure); // also', ';//'],
  [
    'ending-tried-again',
    'an ending is tried until the store has it',
    'if (!isStoreUnavailable(failure)) throw failure;',
    'throw failure;',
  ],
  [
    'ending-frees',
    'an ending that cannot be taken frees its hold',
    "await this.#endInStore({ kind: 'release', requestId, record }, []).catch(() => {});",
    '',
  ],
  [
    'ending-told',
    'no success is reported for a message that was ended elsewhere',
    "return { ok: false, reason: 'ended' };\n",
    'return { ok: true, cost: 0, writtenOff: 0 };\n',
  ],
  [
    'ending-waits',
    'an ending is waited for so long, and not longer',
    'return within(this.#timers, waitMs, ending, storeIsSilent);',
    'return ending;',
  ],
]);

const doubts = mutate('src/ledger/queued-ledger.ts', [
  ['doubt-again', 'a second admission in doubt leaves no hold either', '    this.#isReleasing = false;', ''],
  [
    'doubt-released',
    'an admission in doubt is given up when it is released',
    'this.#releases.delete(release.requestId);',
    '',
  ],
]);

const failures = mutate('src/ledger/store-failure.ts', [
  [
    'doubt-told',
    'a store that cannot tell whether it has an admission is not taken for one that has it not',
    'if (!(failure instanceof InDoubt)) return',
    'return',
  ],
]);

const refusals = mutate('src/ledger/refusals.ts', [
  [
    'claimed-asks',
    'a message under a claim is always asked: it may have been answered',
    "if (operation.kind === 'admit' && operation.claim !== undefined) return null;",
    '',
  ],
  ['least-compared', 'what is needed is the least, not the whole hold', 'return least ?? amount;', 'return amount;'],
  ['smaller-asked', 'a smaller amount is asked anew', ': amount >= refused;', ': true;'],
  [
    'behind-holds-larger',
    'behind holds a larger amount is asked anew',
    'amount > refusal.available && amount <= refused',
    'amount > refusal.available',
  ],
  [
    'behind-holds-smaller',
    'a refusal because of holds is decided again',
    'amount > refusal.available && amount <= refused',
    'amount <= refused',
  ],
  [
    'behind-holds-moment',
    'behind holds a refusal is remembered for a moment only',
    'isBehindOthers(refusal) ? bounds.refusalBehindOthersRememberedMs : bounds.refusalRememberedMs',
    'bounds.refusalRememberedMs',
  ],
  [
    'remembered-until',
    'a rate is refused not a millisecond too long',
    'Math.min(nowMs + lastsMs, refusal.retryAtMs ?? Number.POSITIVE_INFINITY)',
    'nowMs + lastsMs',
  ],
  [
    'remembered-ends',
    'remembered refusals expire',
    'if (remembered.untilMs <= nowMs) {',
    'if (remembered.untilMs < nowMs) {',
  ],
  [
    'remembered-bound',
    'remembered refusals are bounded',
    'if (this.#remembered.size >= bounds.rememberedRefusalsMax) this.#remembered.clear();',
    '',
  ],
  [
    'remembered-by-group',
    'a refusal of a group is of that group',
    ': `g${operation.account} ${operation.group}`;\n    default',
    ': `a${operation.account}`;\n    default',
  ],
  [
    'remembered-by-key',
    'a refusal of a key is of that key',
    'const owner = refusal.ofKey ? `k${operation.key}` : `a${operation.account}`;',
    'const owner = `a${operation.account}`;',
  ],
  [
    'free-call-asks',
    'a free call is refused for its rate alone',
    "if (operation.kind === 'take') return refusal.reason === 'requests_rate' ? refusal : null;",
    '',
  ],
  ['forgets-account', 'what an account is given back is heard of', 'this.#remembered.delete(`a${account}`);', ''],
  [
    'forgets-group',
    'returned rates of a group clear remembered refusals',
    'if (group !== null) this.#remembered.delete(`g${account} ${group}`);',
    '',
  ],
  ['forgets-key', 'what a key is given back is heard of', 'this.#remembered.delete(`k${key}`);', ''],
  [
    'forgets-account-held',
    'returned money of an account clears refusals because of holds',
    'this.#remembered.delete(`a${account} held`);',
    '',
  ],
  [
    'forgets-key-held',
    'returned quota of a key clears refusals because of holds',
    'this.#remembered.delete(`k${key} held`);',
    '',
  ],
]);

const timers = mutate('src/base/timers.ts', [
  ['wait-bounded', 'a wait has an end', 'timers.after(ms, () => reject(late()))', 'timers.after(ms, () => {})'],
  ['wait-over', 'a wait that is over leaves no timer behind', '(value) => {\n        stopWaiting();', '(value) => {'],
  [
    'wait-failed',
    'a wait that failed leaves no timer behind',
    '(failure) => {\n        stopWaiting();',
    '(failure) => {',
  ],
]);

export const nodeMutations = [...nodes, ...queues, ...doubts, ...failures, ...refusals, ...timers];
