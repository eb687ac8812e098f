// The guards of a node: its queues, what it remembers, its endings that outlast the store, its lease.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what is looked for is code as it stands

import { mutate } from './mutation.ts';

const nodes = mutate('src/ledger/node-ledger.ts', [
  ['queue-bound', 'the queue as a whole is bounded', 'this.#queued >= bounds.ledgerQueueMax ||', ''],
  [
    'queue-of-account',
    "one account's share of the queue is bounded",
    '|| queued >= bounds.ledgerQueuePerAccountMax',
    '',
  ],
  ['queue-left', 'who was answered leaves the queue', 'this.#queued--;', ''],
  ['lost-lease', 'a node whose lease is lost admits nothing', 'this.#owner = null;\n', ';\n'],
  [
    'lost-lease-old',
    'a refusal of an old lease says nothing of the new',
    ' && operation.owner.epoch === this.#owner?.epoch',
    '',
  ],
  [
    'decided-before-credit',
    'what was decided before a credit is not remembered after it',
    'if (this.#refusals.timesForgotten === timesForgotten)',
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
    'an extension makes nothing forgotten',
    "return operation.kind !== 'extend';",
    'return true;',
  ],
  [
    'ending-heard',
    'an ending is heard of at once',
    'const { account, key, group } = operation.record;\n    this.#refusals.forget(account, key, group);',
    '',
  ],
  [
    'leaving-heard',
    'a leaving is heard of at once',
    'await this.#ask(operation);\n    this.#refusals.forget(account, key, group);',
    'await this.#ask(operation);',
  ],
  ['refusal-remembered', 'a refusal is given again without asking', 'if (remembered !== null) return remembered;', ''],
  [
    'doubt',
    'an admission whose answer is lost leaves no hold',
    "if (operation.kind === 'admit' && isStoreGone(failure)) this.#doubt(operation);",
    '',
  ],
  [
    'ending-tried-again',
    'an ending is tried until the store has it',
    'if (!isStoreGone(failure)) throw failure;',
    'throw failure;',
  ],
  [
    'ending-frees',
    'an ending that cannot be taken frees its hold',
    "await this.#endInStore({ kind: 'release', requestId, record }).catch(() => {});",
    '',
  ],
  [
    'ending-told',
    'no success is told of what someone else ended',
    "return { ok: false, reason: 'ended' };\n",
    'return { ok: true, cost: 0, writtenOff: 0 };\n',
  ],
  [
    'ending-waits',
    'an ending is waited for so long, and not longer',
    'return within(waitMs, ending);',
    'return ending;',
  ],
  [
    'stop-waits',
    'a node that stops waits for its endings',
    'await within(boundMs, Promise.allSettled([...this.#unfinished])).catch(() => {});',
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
  ['store-noted', 'a store that fails is noted', 'if (isStoreGone(failure)) this.#note(failure);', ''],
  [
    'open-ends',
    'opening ends what an earlier run left',
    "const answer = await this.#ask({ kind: 'expire' });",
    "const answer = await this.#ask({ kind: 'leave', requestId: '' });",
  ],
]);

const refusals = mutate('src/ledger/refusals.ts', [
  ['smaller-asked', 'a smaller amount is asked anew', ': amount >= refused;', ': true;'],
  [
    'behind-holds-larger',
    'behind holds a larger amount is asked anew',
    'amount > refusal.available && amount <= refused',
    'amount > refusal.available',
  ],
  [
    'behind-holds-smaller',
    'behind holds what may fit is asked anew',
    'amount > refusal.available && amount <= refused',
    'amount <= refused',
  ],
  [
    'behind-holds-moment',
    'behind holds a refusal is remembered for a moment only',
    'refusal.behindHolds ? bounds.refusalBehindHoldsRememberedMs : bounds.refusalRememberedMs',
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
    'what is remembered ends',
    'if (remembered.untilMs <= nowMs) {',
    'if (remembered.untilMs < nowMs) {',
  ],
  [
    'remembered-bound',
    'what is remembered is bounded',
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
    'what a group is given back is heard of',
    'if (group !== null) this.#remembered.delete(`g${account} ${group}`);',
    '',
  ],
  ['forgets-key', 'what a key is given back is heard of', 'this.#remembered.delete(`k${key}`);', ''],
  [
    'forgets-account-held',
    'what an account is given back is heard of, behind holds',
    'this.#remembered.delete(`a${account} held`);',
    '',
  ],
  [
    'forgets-key-held',
    'what a key is given back is heard of, behind holds',
    'this.#remembered.delete(`k${key} held`);',
    '',
  ],
]);

export const nodeMutations = [...nodes, ...refusals];
