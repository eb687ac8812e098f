// The guards of the store in PostgreSQL: locks, what is read under them and when, what becomes of a commit that had no answer, and
// that every table is written.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what is looked for is code as it stands

import { mutate } from './mutation.ts';

const locks = mutate('src/storage/postgres/statements.ts', [
  [
    'postgres-accounts-locked',
    'the accounts of a batch are locked while it is decided',
    'ANY(${BIGINTS(1)}) ORDER BY m.id FOR NO KEY UPDATE',
    'ANY(${BIGINTS(1)}) ORDER BY m.id',
  ],
  [
    'postgres-strays-locked',
    'also those of messages of which only the id is known',
    "${ofStrays('account_id')})\n  ORDER BY m.id FOR NO KEY UPDATE",
    "${ofStrays('account_id')})\n  ORDER BY m.id",
  ],
  [
    'postgres-leases-locked',
    'changes of leases lock them',
    '${READ_LEASES} ORDER BY l.node FOR NO KEY UPDATE',
    '${READ_LEASES} ORDER BY l.node',
  ],
  [
    'postgres-time-under-locks',
    'the time is that at which the locks are had, not at which they were asked for',
    'clock_timestamp()',
    'transaction_timestamp()',
  ],
  [
    'postgres-epoch-lapsed',
    'holds of a past epoch have lapsed',
    'OR l.epoch <> o.epoch OR l.expires_at_ms',
    'OR l.expires_at_ms',
  ],
  [
    'postgres-lease-lapsed',
    'holds of a lease that has run out have lapsed',
    ' OR l.expires_at_ms <= ${NOW_MS(1)} OR o.node',
    ' OR o.node',
  ],
  [
    'postgres-lease-moved',
    'holds of a lease that the batch itself takes anew have lapsed',
    ' OR o.node = ANY(${TEXTS(3)})\n',
    ' OR $3::text IS NULL\n',
  ],
  [
    'postgres-all-owners',
    'holds of all owners are looked at',
    'WHERE (h.node, h.epoch) > (o.node, o.epoch) ORDER BY',
    'WHERE (h.node, h.epoch) > (o.node, o.epoch) AND false ORDER BY',
  ],
  ['postgres-endings-read', 'a message that ended this month has ended', "interval '2 days'", "interval '-40 days'"],
  [
    'postgres-totals-added',
    'daily totals are added to',
    '${name} = stored.${name} + excluded.${name}',
    '${name} = excluded.${name}',
  ],
  [
    'postgres-carried-credits',
    'a reference credits once, even after its entry was dropped',
    "SELECT ${asNumbers('c', 'account_id')}, c.reference, c.amount::float8",
    "SELECT ${asNumbers('c', 'account_id')}, c.reference, NULL::float8",
  ],
  [
    'postgres-debits-negative',
    'a credit that took something back is known as that',
    'CASE WHEN e.credit = e.account_id THEN e.amount ELSE -e.amount END',
    'CASE WHEN e.credit = e.account_id THEN e.amount ELSE e.amount END',
  ],
]);

const reads = mutate('src/storage/postgres/load-rows.ts', [
  [
    'postgres-keys-under-locks',
    'keys are read when their accounts are locked, not before',
    'accounts: roundTrip.unlessEmpty(accounts, statements.LOCK_ACCOUNTS),\n      keys: roundTrip.unlessEmpty(keys, statements.READ_KEYS),',
    'keys: roundTrip.unlessEmpty(keys, statements.READ_KEYS),\n      accounts: roundTrip.unlessEmpty(accounts, statements.LOCK_ACCOUNTS),',
  ],
  [
    'postgres-lease-read',
    'an admission is decided by the lease as it stands',
    "needs.leases === 'read', statements.READ_LEASES",
    'false, statements.READ_LEASES',
  ],
  [
    'postgres-endings-of-claims',
    "the outcome of an idempotency record's message is read",
    'roundTrip.askIf(hasClaims, statements.READ_ENDINGS_OF_CLAIMS, ...claimValues)',
    'roundTrip.askIf(false, statements.READ_ENDINGS_OF_CLAIMS, ...claimValues)',
  ],
]);

const needs = mutate('src/storage/postgres/load-rows.ts', [
  [
    'postgres-strays-found',
    'an extension without a checkpoint finds its account',
    'else found.strays.add(operation.requestId);',
    '',
  ],
  [
    'postgres-credits-known',
    'a reference that credited before is looked for',
    'if (operation.reference !== null)\n        found.credits',
    'if (operation.reference === null)\n        found.credits',
  ],
]);

const batches = mutate('src/storage/postgres/ledger-store.ts', [
  [
    'postgres-outcome-asked',
    'a commit that had no answer may have been made',
    'this.isCommitAsked = await this.#wasMade(transaction, { timeline, life });',
    'this.isCommitAsked = false;',
  ],
  [
    'postgres-outcome-believed',
    'a commit that had no answer may not have been made',
    'this.isCommitAsked = await this.#wasMade(transaction, { timeline, life });',
    'this.isCommitAsked = true;',
  ],
  [
    'postgres-doubt-told',
    'a commit of which nothing could be learned is not told as if it was not made',
    'if (batch.isCommitAsked) throw inDoubt(batch.transaction, failure);',
    '',
  ],
  [
    'postgres-crash-told',
    'a number that was given again after a crash is not taken for the batch',
    "outcome === 'committed' && this.#connection.life === before.life",
    "outcome === 'committed'",
  ],
  [
    'postgres-lapsed-locked',
    'the accounts of holds that have lapsed are locked before these are ended',
    '...needs,\n    accounts: join(',
    '...needs,\n    accounts: true ? needs.accounts : join(',
  ],
  ['postgres-month-made', 'a missing month is created', 'if (month !== null) await this.#makeMonth(month);', ''],
  [
    'postgres-locked-apart',
    'an account that somebody else has locked keeps no other waiting',
    'if (neededBy !== null) throw new RowsLocked',
    'if (neededBy === undefined) throw new RowsLocked',
  ],
  [
    'postgres-locked-lapsed',
    'an account that somebody else has locked keeps no node from renewing its lease',
    'if (!this.#options.isLocked || lapsed.length === 0) return lapsed;',
    'if (lapsed.length >= 0) return lapsed;',
  ],
  [
    'postgres-made-meanwhile',
    'an account that another node made meanwhile is no fault of the batch',
    "const isMadeMeanwhile = errno === '23505' &&",
    "const isMadeMeanwhile = errno === '' &&",
  ],
]);

const connections = mutate('src/storage/postgres/connection.ts', [
  [
    'postgres-old-ended-first',
    'an abandoned connection is ended before another takes work',
    'if (this.#lost !== null) await this.#endBackend(session, this.#lost);',
    '',
  ],
  [
    'postgres-standby-awaited',
    'an ending that waits for a standby is acknowledged when the standby has it',
    'if (isAfterLoss) await this.#answersTo(session, [WRITE_NOTHING]);',
    '',
  ],
  [
    'postgres-old-remembered',
    'a connection that was given up is known until another is had',
    'this.#lost = this.#backend ?? this.#lost;',
    '',
  ],
]);

const writes = mutate('src/storage/postgres/write-changes.ts', [
  ['postgres-corrections-written', 'corrected endings are written', '    changes.corrections.length === 0 &&\n', ''],
  ['postgres-claims-written', 'claims are written', '    changes.claims.size === 0 &&\n', ''],
  [
    'postgres-totals-apart',
    'a total that is added to twice in a batch is added to one time after the other',
    '    totals.length <= 1\n',
    '    totals.length >= 0\n',
  ],
  ['postgres-terms-written', 'changed terms are written', '    told.length === 0 &&\n', ''],
  ['postgres-leases-written', 'leases are written', '    changes.leases.size === 0 &&\n', ''],
  [
    'postgres-holds-deleted',
    'a hold that has ended is taken out',
    'if (ended.length > 0) asked.push({ text: statements.DELETE_HOLDS, values: [arrayOf(ended)] });',
    '',
  ],
]);

export const postgresMutations = [...locks, ...reads, ...needs, ...batches, ...connections, ...writes];
