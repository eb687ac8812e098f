// The guards of batches: bundles whole or not at all, what operations see of one another, what is
// asserted before anything is written, and that each record and each total is written once.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what is looked for is code as it stands

import { mutate } from './mutation.ts';

const bundles = mutate('src/ledger/apply-batch.ts', [
  [
    'bundle-whole',
    'a bundle is applied whole or not at all',
    'if (answers.some((answer) => !answer.ok)) {',
    'if (answers.every((answer) => !answer.ok)) {',
  ],
  [
    'bundle-told',
    'no operation of a refused bundle is told success',
    "return answers.map((answer) => (answer.ok ? { ok: false, reason: 'bundle_refused' } : answer));",
    'return answers;',
  ],
  ['bundle-absorbed', 'a bundle that is taken is written', 'staged.absorb(attempt);', ''],
  ['bundle-alongside', 'rows alongside a bundle are written', 'attempt.putCoCommitted(bundle.coCommitted ?? []);', ''],
  [
    'refused-alongside',
    'co-committed rows of a refused bundle are not written',
    'if (isChange && bundle.coCommitted !== undefined)',
    'if (bundle.coCommitted !== undefined)',
  ],
  [
    'repeated-alongside',
    'rows alongside a repeated credit are not written',
    "answer.ok && !(answer.kind === 'credited' && answer.repeated)",
    'answer.ok',
  ],
  [
    'expire-moves-leases',
    'an expiry fences the nodes whose leases lapsed',
    'leases: moveLapsedLeases(rows, operation)',
    'leases: []',
  ],
]);

const staged = mutate('src/ledger/staged-rows.ts', [
  [
    'floor',
    'no change leaves a balance less than its holds above its floor',
    'balance + creditLine >= held && held >= 0',
    'held >= 0',
  ],
  [
    'held-not-negative',
    'no change leaves less than nothing held',
    'balance + creditLine >= held && held >= 0',
    'balance + creditLine >= held',
  ],
  [
    'balance-exact',
    'no change leaves a balance that is not exact',
    "assert(Number.isSafeInteger(balance), 'a balance is an exact whole number of nanodollars');",
    '',
  ],
  [
    'entry-not-negative',
    'no entry moves a negative amount',
    "assert(amount >= 0, 'the amount of an entry is never negative');",
    '',
  ],
  [
    'billed-once',
    'no request id is billed twice in a batch',
    "if (ending !== undefined) assert(!ended.has(ending.record.requestId), 'a request id is billed at most once');",
    '',
  ],
  [
    'batch-sees-credits',
    'a reference credits once within a batch',
    'this.#credits.get(creditName(account, reference)) ?? this',
    'this',
  ],
  [
    'credit-by-account',
    'a reference credits once for each account',
    'return `${account} ${reference}`;',
    'return reference;',
  ],
  [
    'batch-sees-endings',
    'a message ends once within a batch',
    'this.#endings.get(requestId) ?? this.#below',
    'this.#below',
  ],
  [
    'batch-sees-corrections',
    'a message is corrected once within a batch',
    'this.#corrections.get(requestId) ?? this',
    'this',
  ],
  [
    'batch-sees-accounts',
    'operations of a batch see amounts that others took',
    'this.#accounts.get(id) ?? this.#below',
    'this.#below',
  ],
  [
    'batch-sees-keys',
    'operations of a batch see amounts that others took from the key',
    'this.#keys.get(id) ?? this.#below',
    'this.#below',
  ],
  [
    'batch-sees-leases',
    'operations of a batch see the lease as it is now',
    'this.#leases.get(node) ?? this.#below',
    'this.#below',
  ],
  [
    'batch-sees-ended',
    'a hold that ended in the batch is open no more',
    '(staged ?? undefined)',
    '(staged ?? this.#below.hold(requestId))',
  ],
  [
    'batch-ends-begun',
    'a hold that began and ended in the batch is not left',
    'if (this.#below.hold(hold.requestId) === undefined) this.#holds.delete(hold.requestId);\n    else',
    'if (this.#below.hold(hold.requestId) !== undefined)',
  ],
  [
    'batch-sees-claims',
    'operations of a batch see idempotency records of others',
    'this.#claims.get(claimName(key, name)) ?? this.#below',
    'this.#below',
  ],
  ['claim-by-key', 'a claim is one of its key', 'return `${key} ${name}`;', 'return name;'],
  [
    'debt-once',
    'a debt is given up once under its reference',
    "entry.kind === 'adjustment' ||\n    entry.kind === 'debt_write_off'",
    "entry.kind === 'adjustment'",
  ],
  [
    'expire-sees-renewed',
    'an expiry sees that a lease was renewed in its batch',
    'yield this.#leases.get(lease.node) ?? lease;',
    'yield lease;',
  ],
  [
    'expire-sees-begun',
    'an expiry ends holds that began in its batch',
    'if (hold !== null && this.#below.hold(hold.requestId) === undefined) yield hold;',
    '',
  ],
  [
    'expire-sees-ended',
    'an expiry does not end a hold that ended in its batch',
    'if (now !== undefined) yield now;',
    'yield now ?? hold;',
  ],
  [
    'absorb-accounts',
    'a bundle writes its accounts',
    'for (const [id, account] of tried.#accounts) this.#accounts.set(id, account);',
    '',
  ],
  ['absorb-keys', 'a bundle writes its keys', 'for (const [id, key] of tried.#keys) this.#keys.set(id, key);', ''],
  [
    'absorb-claims',
    'a bundle writes its claims',
    'for (const [name, claim] of tried.#claims) this.#claims.set(name, claim);',
    '',
  ],
  [
    'absorb-corrections',
    'a bundle writes its corrections',
    'for (const [requestId, ending] of tried.#corrections) this.#corrections.set(requestId, ending);',
    '',
  ],
  ['absorb-alongside', 'a bundle writes its rows alongside', 'this.putCoCommitted(tried.#coCommitted);', ''],
  ['absorb-entries', 'a bundle writes its entries', 'for (const entry of tried.#entries) this.#putEntry(entry);', ''],
  [
    'absorb-endings',
    'a bundle writes its records',
    'for (const [requestId, ending] of tried.#endings) this.#endings.set(requestId, ending);',
    '',
  ],
  [
    'absorb-totals',
    'a bundle writes its totals',
    'for (const [name, total] of tried.#totals.byName) this.#totals.add(name, total);',
    '',
  ],
  [
    'absorb-holds',
    'a bundle writes its holds',
    'for (const [requestId, hold] of tried.#holds) this.#holds.set(requestId, hold);',
    '',
  ],
  [
    'absorb-leases',
    'a bundle writes its leases',
    'for (const [node, lease] of tried.#leases) this.#leases.set(node, lease);',
    '',
  ],
  [
    'total-once',
    'a message counts once in its daily total',
    'this.#endings.set(ending.record.requestId, ending);\n    this.#totals.count(ending.record, 1);',
    'this.#endings.set(ending.record.requestId, ending);\n    this.#totals.count(ending.record, 1);\n    this.#totals.count(ending.record, 1);',
  ],
  [
    'total-counted',
    'a message counts in its daily total',
    'this.#endings.set(ending.record.requestId, ending);\n    this.#totals.count(ending.record, 1);',
    'this.#endings.set(ending.record.requestId, ending);',
  ],
  ['total-corrected', 'a corrected message counts once in its daily total', 'this.#totals.count(before, -1);', ''],
  ['empty-accounts', 'what changes an account alone is committed', 'this.#accounts.size === 0 &&\n', ''],
  ['empty-keys', 'what changes a key alone is committed', 'this.#keys.size === 0 &&\n', ''],
  ['empty-leases', 'what changes a lease alone is committed', 'this.#leases.size === 0 &&\n', ''],
  [
    'empty-alongside',
    'a bundle with co-committed rows only is committed',
    'this.#leases.size === 0 &&\n        this.#coCommitted.length === 0',
    'this.#leases.size === 0',
  ],
]);

const totals = mutate('src/ledger/daily-totals.ts', [
  [
    'total-exact',
    'totals of a batch stay exact',
    '!Number.isSafeInteger(total.cost + more.cost) ||\n      !Number.isSafeInteger(total.providerCost + more.providerCost)',
    'false',
  ],
]);

const commits = mutate('src/ledger/group-commit.ts', [
  ['one-batch', 'one batch is under way at a time', 'if (this.#isScheduled) return;', ''],
  ['batch-bound', 'a batch is bounded', 'this.#queue.splice(0, bounds.batchOperationsMax)', 'this.#queue.splice(0)'],
  [
    'bad-bundle-beside',
    'the bundles beside one that is at fault are taken',
    'await this.#commit(batch.slice(half));',
    '',
  ],
  [
    'bad-bundle-alone',
    'a bundle at fault does not take the others with it',
    'if (isOfBundle(failure) && batch.length > 1) {',
    'if (false) {',
  ],
  [
    'bad-bundle-once',
    'a bundle at fault alone is not tried for ever',
    'isOfBundle(failure) && batch.length > 1',
    'isOfBundle(failure) && batch.length > 0 && this.#batches < 50',
  ],
  [
    'store-failure-named',
    'a store that fails is named store_unavailable',
    'isOfBundle(failure) || failure instanceof TurnpikeError ? failure',
    'isOfBundle(failure) || failure instanceof Error ? failure',
  ],
]);

const records = mutate('src/ledger/usage-record.ts', [
  [
    'record-of-message',
    'a record is of its own message',
    'record.requestId === of.requestId && record.account === of.account && record.key === of.key',
    'true',
  ],
  [
    'record-of-request',
    'a record bears the id of its message',
    'record.requestId === of.requestId && record.account',
    'record.account',
  ],
  [
    'record-of-account',
    'a record is of the account that pays',
    '&& record.account === of.account && record.key === of.key',
    '&& record.key === of.key',
  ],
  ['record-of-key', 'a record is of the key that was used', '&& record.key === of.key', ''],
  [
    'cost-countable',
    'a cost is whole and never negative',
    "assert(isWholeNumber(record.cost), 'the cost of a message is a whole number of nanodollars and never negative');",
    '',
  ],
  ['counts-input', 'input tokens are whole', 'isWholeNumber(record.inputTokens) &&', ''],
  ['counts-output', 'output tokens are whole', 'isWholeNumber(record.outputTokens) &&', ''],
  ['counts-status', 'a status is whole', 'isWholeNumber(record.status) &&', ''],
  ['counts-cache-read', 'tokens read from the cache are whole', 'isWholeNumber(record.cacheReadTokens) &&', ''],
  [
    'counts-cache-5m',
    'tokens written to the cache for minutes are whole',
    'isWholeNumber(record.cacheWrite5mTokens) &&',
    '',
  ],
  [
    'counts-cache-1h',
    'tokens written to the cache for an hour are whole',
    'isWholeNumber(record.cacheWrite1hTokens) &&',
    '',
  ],
  ['counts-searches', 'searches are whole', 'isWholeNumber(record.webSearches) &&', ''],
  [
    'counts-provider-cost',
    'a provider cost is a whole number',
    'isWholeNumber(record.status) &&\n      isWholeNumber(record.providerCost ?? 0)',
    'isWholeNumber(record.status)',
  ],
]);

const resident = mutate('src/ledger/resident-ledger.ts', [
  [
    'answered-durable',
    'an ending is answered once it is durable',
    'this.#whenDurable.push(ending);',
    'this.#unfinished.delete(ending);\n    ending.told.resolve(ending.answer);',
  ],
  [
    'told-after-write',
    'an ending is answered after its write, not when it begins',
    'await this.#writeUntilDurable(changes);',
    'void this.#writeUntilDurable(changes);',
  ],
  [
    'refused-while-failing',
    'nothing is admitted while writes fail',
    'this.#requireRoom(operation.account);\n    this.#requireStore();',
    'this.#requireRoom(operation.account);',
  ],
  [
    'claim-answered-durable',
    'a repeated idempotency key is told of an answer once it is durable',
    "if (answer.ok || answer.reason !== 'claim_answered' || !isAhead) return answer;",
    'if (answer !== null) return answer;',
  ],
  [
    'waiting-given-up',
    'an admission that is given up while a bundle commits takes nothing',
    'waiting.delete(decideNow);',
    '',
  ],
  [
    'admit-after-bundle',
    'nothing is admitted before the outcome of a bundle is known',
    'if (this.#waiting !== null) return this.#afterBundle(() => this.admit(operation));',
    '',
  ],
  [
    'end-after-bundle',
    'nothing ends before the outcome of a bundle is known',
    'if (this.#waiting === null) this.#endNow(ending, operation, coCommitted);\n    else',
    'this.#endNow(ending, operation, coCommitted);\n    if (false)',
  ],
  [
    'reload-doubtful',
    'rows are read from the disk after a bundle whose outcome is unknown',
    'if (this.#store.isDoubtful) await this.#reload();',
    '',
  ],
  [
    'bundle-fails',
    'a bundle fails with the write before it',
    'if (this.#failure !== null) this.#failBundle?.(new NothingTaken(this.#failure.cause));',
    '',
  ],
  [
    'ending-late',
    'the submitter of an ending stops waiting after its time',
    'if (untilMs <= nowMs) told.reject(storeIsSilent());',
    ';',
  ],
  [
    'hanging-write',
    'nothing is admitted while a write does not return',
    "this.#note(new NothingTaken('a write to the disk has not returned'));",
    ';',
  ],
  [
    'unfinished-bound',
    'endings that wait for a slow disk are bounded',
    'this.#unfinished.size >= bounds.ledgerQueueMax || ofAccount',
    'ofAccount',
  ],
  [
    'unfinished-of-account',
    "one account's endings that wait for a slow disk are bounded",
    ' || ofAccount >= bounds.ledgerQueuePerAccountMax',
    '',
  ],
  ['uncharged', 'an ending that cannot be decided releases its hold', 'this.#releaseUncharged(operation);\n    }', '}'],
  [
    'co-committed',
    'an ending writes its co-committed rows',
    'if (answer.ok) this.#rows.putCoCommitted(coCommitted);',
    '',
  ],
]);

const rows = mutate('src/ledger/resident-rows.ts', [
  [
    'ending-unwritten',
    'a message that ended ends once, even before it is written',
    'endingIn(this.#unwritten, requestId) ??',
    '',
  ],
  [
    'ending-in-writing',
    'a message that ended ends once, even while it is written',
    'endingIn(this.#writing, requestId) ??',
    '',
  ],
  ['claim-unwritten', 'an idempotency record counts before it is written', 'this.#unwritten.claims.get(named) ??', ''],
  ['claim-in-writing', 'an idempotency record counts while it is written', 'this.#writing?.claims.get(named) ??', ''],
  [
    'without-young',
    'the row of an account is written without young holds',
    'this.#young.subtractFromAccount(account)',
    'account',
  ],
  [
    'due-hold',
    'a hold that was young is known when it has been written',
    '      this.#holds.set(hold.requestId, hold);\n      unwritten.holds.set(hold.requestId, hold);',
    '      unwritten.holds.set(hold.requestId, hold);',
  ],
  ['key-without-young', 'the row of a key is written without young holds', 'this.#young.subtractFromKey(key)', 'key'],
  [
    'due-account',
    'a hold is written with the row of its account',
    'unwritten.accounts.set(hold.account, this.#accounts.get(hold.account) as AccountRow);',
    '',
  ],
  [
    'due-key',
    'a hold is written with the row of its key',
    'unwritten.keys.set(hold.key, this.#keys.get(hold.key) as KeyRow);',
    '',
  ],
  [
    'ended-deleted',
    'the end of a hold that is on the disk is written',
    'this.#unwritten.holds.set(requestId, null);',
    '',
  ],
  [
    'evict-unwritten',
    'no row of an account is evicted before it is written',
    '!this.#unwritten.accounts.has(id) && ',
    '',
  ],
  ['evict-young', 'no row of an account with young holds is evicted', '!this.#young.hasAccount(id) && ', ''],
  ['evict-key-unwritten', 'no row of a key is evicted before it is written', '!this.#unwritten.keys.has(id) && ', ''],
  ['evict-key-young', 'no row of a key with young holds is evicted', '!this.#young.hasKey(id) && ', ''],
  ['evict', 'rows in memory are bounded', 'this.#writing = null;\n    this.#evict();', 'this.#writing = null;'],
]);

const young = mutate('src/ledger/young-holds.ts', [
  [
    'urgent',
    'a hold with an idempotency key or a checkpoint is written at once',
    'const due = [...this.#urgent.values()];',
    'const due: HoldRow[] = [];',
  ],
  ['replaced', 'a changed hold counts once', 'if (before !== undefined) this.#count(before, -1);', ''],
  ['left', 'a message that left does not run', 'if (!left) sum.running += sign;', 'sum.running += sign;'],
]);

export const batchMutations = [
  ...bundles,
  ...staged,
  ...totals,
  ...commits,
  ...records,
  ...resident,
  ...rows,
  ...young,
];
