// Holes that the people of a company could use, each as the change that makes it.

import { type Hole, holesIn } from '../hole.ts';

const ofLedger = [
  ...holesIn(
    'src/ledger/payers.ts',
    [
      [
        'budgets-of-one-account',
        'budgets limit keys in accounts below others',
        'if (person !== null) least = Math.min(least, budgetAvailable(person, accounts));',
        'if (person !== null && accounts.length === 1) least = Math.min(least, budgetAvailable(person, accounts));',
      ],
      [
        'budgets-of-defaults',
        'budgets of the accounts above limit a person',
        'least = Math.min(least, budgetAvailable(person, accounts));\n  return',
        'least = Math.min(least, budgetAvailable(person, accounts.slice(0, 1)));\n  return',
      ],
      [
        'allowances-above-forgotten',
        'the allowances of accounts above limit a message',
        'for (const account of accounts) least = Math.min(least, spendingAvailable(',
        'for (const account of accounts.slice(0, 1)) least = Math.min(least, spendingAvailable(',
      ],
      [
        'people-not-charged',
        'a message takes from the budgets of its person',
        'person && chargedPerson(person, paid, amount, openedAtMs, nowMs)',
        'person && chargedPerson(person, 0, amount, openedAtMs, nowMs)',
      ],
      [
        'payers-not-charged',
        'the account above pays for the messages of those below',
        'if (at === payer) return charged(account, charge, hold, groups, nowMs);',
        'if (at === payer) return charged(account, at === 0 ? charge : { ...charge, paid: 0 }, hold, groups, nowMs);',
      ],
    ],
    'company',
  ),
  ...holesIn(
    'src/ledger/admit.ts',
    [
      [
        'people-unchecked',
        'an admission checks whether the person is enabled',
        "if (!mayUseKey(payers)) return { answer: refuse('person_disabled', { ofKey: true }) };",
        '',
      ],
    ],
    'company',
  ),
];

const ofKeys = holesIn(
  'src/admin-api/keys.ts',
  [
    [
      'members-lift-limits',
      'members make limits of owners only stricter',
      '...(isMember ? lockFaults(before, locked, change) : [])',
      '...(isMember && locked.length === 0 ? lockFaults(before, locked, change) : [])',
    ],
    [
      'members-reset-periods',
      'members cannot change the period of a quota of owners',
      "if (locked.includes('quota') && period !== meters.quotaPeriod)",
      "if (!locked.includes('quota') && period !== meters.quotaPeriod)",
    ],
    [
      'members-give-keys-away',
      'keys of members are always theirs',
      "if (role === 'member') {\n    if (asked",
      "if (role === 'scim') {\n    if (asked",
    ],
    [
      'members-set-tags',
      'members cannot set the tags of keys',
      "if (role === 'member' && tags !== undefined)",
      "if (role === 'scim' && tags !== undefined)",
    ],
  ],
  'company',
);

const ofRights = [
  ...holesIn(
    'src/admin-api/account-tree.ts',
    [
      [
        'own-allowance',
        'owners cannot change what those above set for their account',
        'if (of === undefined || isOwn) throw',
        'if (of === undefined) throw',
      ],
      [
        'wallets-below',
        'only operators decide about an account with a balance of its own',
        "if (of === 'paying' && account.paysFrom !== 'parent')",
        "if (of === 'paying' && account.paysFrom === undefined)",
      ],
    ],
    'company',
  ),
  ...holesIn(
    'src/admin-api/accounts.ts',
    [
      [
        'credit-by-owners',
        'owners create accounts without credit of their own',
        'if (principal.accountId !== null) refuseOperatorsCreation(body);',
        'if (principal.accountId === 0) refuseOperatorsCreation(body);',
      ],
      [
        'parents-shown',
        'nobody sees the account above theirs',
        'const parentId = principal.accountId === account.id ? null : company.parentId;',
        'const { parentId } = company;',
      ],
    ],
    'company',
  ),
  ...holesIn(
    'src/admin-api/dependencies.ts',
    [
      [
        'owners-see-all',
        'owners see their account and those below it',
        'return chain.some(({ id }) => id === principal.accountId);',
        'return chain.length > 0;',
      ],
      [
        'members-see-keys',
        'members see their own keys',
        "(role !== 'member' || isKeyOf(key, id))",
        "(role !== 'member' || isKeyOf(key, id) || key.personId !== null)",
      ],
    ],
    'company',
  ),
  ...holesIn(
    'src/accounts/access-token.ts',
    [
      [
        'tokens-outlast-people',
        'tokens of a disabled person stop working',
        "if (status !== 'enabled') return false;",
        "if (status === 'invited') return false;",
      ],
    ],
    'company',
  ),
  ...holesIn(
    'src/gateway/attribution.ts',
    [
      [
        'pinned-by-clients',
        'clients cannot name a pinned tag',
        'filter(([name]) => !isPinned(name));',
        'filter(([name]) => name.length > 0);',
      ],
    ],
    'company',
  ),
];

const ofBatches = [
  ...holesIn(
    'src/public-api/batch-routes.ts',
    [
      [
        'batches-of-others',
        'a batch is found by the key that made it alone',
        'batch === null || batch.keyId !== key.id || batch.form !== form',
        'batch === null || batch.form !== form || key.id === 0',
      ],
    ],
    'company',
  ),
  ...holesIn(
    'src/batches/run-batches.ts',
    [
      [
        'reserves-kept',
        'a batch gives back its reserves when it ends',
        'await store.endBatch(ended, batch.status, returns, ',
        'await store.endBatch(ended, batch.status, returns.slice(1), ',
      ],
      [
        'provider-batches-sent-alone',
        'a request that a provider has is not sent alone',
        'if (isDone(position) || this.#atProviders.has(position)) continue;',
        'if (isDone(position)) continue;',
      ],
      [
        'provider-answers-billed-again',
        'an answer that is read again after a kill is billed once',
        'const sent = await this.#parts.send(batch, item.body, claimOf(batch, position), done);',
        "const sent = await this.#parts.send(batch, item.body, claimOf(batch, position) + ' ' + Date.now(), done);",
      ],
    ],
    'company',
  ),
];

const ofProviderBatches = [
  ...holesIn(
    'src/batches/part-runner.ts',
    [
      [
        'provider-batches-made-again',
        'after a kill, a batch is looked for at its provider before another one is made',
        'found = place && (await this.#find(place, part));',
        'found = place && null;',
      ],
      [
        'provider-results-of-others',
        'results are taken by the ids of their own batch alone',
        'return id.startsWith(start) ? parseWholeNumber(id.slice(start.length)) : null;',
        "return parseWholeNumber(id.slice(id.lastIndexOf('-') + 1));",
      ],
      [
        'provider-results-twice',
        'the first result of a request counts',
        'if (!left.has(position) || taken.has(position)) continue; // the first one counts',
        'if (!left.has(position)) continue;',
      ],
    ],
    'company',
  ),
  ...holesIn(
    'src/gateway/message-record.ts',
    [
      [
        'provider-discount-to-accounts',
        'the discount of the provider is not taken off what the account pays',
        '    cost,\n    writtenOff: 0,',
        '    cost: costInBatch(cost, admitted, attempt) ?? cost,\n    writtenOff: 0,',
      ],
      [
        'provider-discount-forgotten',
        'what the operator pays is less by the discount of the provider',
        'return exactNumber((BigInt(cost) * batchCostMillionths + MILLION - 1n) / MILLION);',
        'return exactNumber(BigInt(cost) + batchCostMillionths * 0n);',
      ],
    ],
    'company',
  ),
];

export const companyHoles: readonly Hole[] = [...ofLedger, ...ofKeys, ...ofRights, ...ofBatches, ...ofProviderBatches];
