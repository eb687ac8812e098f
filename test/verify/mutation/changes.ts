// Guards that keep changes of several nodes from undoing each other or being made twice, and guards of their
// notifications.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the searched code contains templates

import { mutate } from './mutation.ts';

const told = mutate('src/storage/postgres/change-feed.ts', [
  [
    'epoch-raised',
    'a change raises the epoch',
    `raised AS (
    UPDATE change_epoch SET epoch = epoch + 1,
      kept_after = greatest(kept_after, (SELECT max(o.epoch) FROM oldest o WHERE o.at_ms < $1::bigint))
    WHERE is_only = 1 RETURNING epoch),`,
    'raised AS (SELECT epoch + 1 AS epoch FROM change_epoch),',
  ],
  [
    'told-gap',
    'the retention boundary is stored before rows are dropped',
    'kept_after = greatest(kept_after, (SELECT max(o.epoch) FROM oldest o WHERE o.at_ms < $1::bigint))',
    'kept_after = greatest(kept_after, 0 * $1::bigint)',
  ],
  ['told-dropped', 'what is told is bounded', 'DELETE FROM changes WHERE', 'DELETE FROM changes WHERE false AND'],
  [
    'told-once',
    'one object is told of once in a batch',
    '[...new Map(told.map((one) => [`${one.kind} ${one.object}`, one])).values()]',
    'told',
  ],
  [
    'told-account',
    'a refused change of an account sends no notification',
    'if (isOfAccount && accounts.has(operation.account))',
    'if (isOfAccount)',
  ],
  [
    'told-key',
    'a refused change of a key sends no notification',
    "operation.kind === 'set-key' && keys.has(operation.key)",
    "operation.kind === 'set-key'",
  ],
  ['told-credits', 'credits are told of', 'entries.filter(({ kind }) => CREDITS.has(kind))', 'entries.slice(0, 0)'],
]);

const outpaced = mutate('src/storage/postgres/change-feed.ts', [
  [
    'outpaced-refused',
    'a change decided on outdated data is refused',
    "if (found.length > 0) throw new Outpaced('the rows that the change was decided by have changed since');",
    '',
  ],
  ['outpaced-gap', 'what cannot be told any more outpaces', 'e.kept_after > $1::bigint OR ', ''],
  ['outpaced-own', 'changes of the account outpace', 'c.account_id = $2::bigint OR ', ''],
  ['outpaced-installation', 'changes of the installation outpace', 'c.account_id = ${INSTALLATION} OR ', ''],
  [
    'outpaced-any',
    'changes of any account outpace where it was decided by them',
    ' OR ($3::int = 1 AND c.account_id IS NOT NULL)',
    '',
  ],
  [
    'outpaced-only-if-decided-by',
    'credits outpace nothing',
    "{ kind: 'credit', object: entry.account, account: null }",
    "{ kind: 'credit', object: entry.account, account: entry.account }",
  ],
  ['outpaced-in-batch', 'changes of one batch outpace each other', 'if (others.length > 0)', 'if (false)'],
]);

const heard = mutate('src/storage/postgres/change-feed.ts', [
  ['heard-gap', 'who was away for too long is told so', 'first.kept_after > epoch || ', ''],
  ['heard-another-store', 'a store that has not come so far is another', ' || first.epoch < epoch', ''],
  [
    'heard-pieces',
    'further pages of many changes are read',
    'rows.length < bounds.pageItemsMax ? first.epoch : last.changed_at',
    'first.epoch',
  ],
  ['heard-whole', 'a piece ends where a transaction does', ' WITH TIES', ' ONLY'],
]);

const creations = mutate('src/storage/postgres/ledger-store.ts', [
  [
    'creation-elsewhere',
    'an idempotency key that another node used first is read again',
    "if (constraint === 'creations_pkey' ||",
    'if (',
  ],
  [
    'email-elsewhere',
    'an email that another node gave to somebody first is read again',
    "|| constraint === 'people_email_key')",
    ')',
  ],
]);

const turns = [
  ...mutate('src/admin-api/changes.ts', [
    ['turn-again', 'a change that was outpaced is made again', 'if (!(failure instanceof Outpaced)) throw', 'throw'],
    ['turn-bounded', 'a change is made again a bounded number of times', 'tries >= bounds.changeTriesMax', 'false'],
    ['turn-tells-once', 'a try that came to nothing is not told of', "context.set('records', []);", ''],
  ]),
  ...mutate('src/admin-api/changes.ts', [
    [
      'trail-since',
      'a change says what it was decided by',
      'since: epoch === null ? null : { epoch, account }',
      'since: null',
    ],
    [
      'trail-account',
      'a change says whose objects it was decided by',
      '{ epoch, account } }',
      '{ epoch, account: null } }',
    ],
  ]),
  ...mutate('src/admin-api/apply.ts', [
    [
      'apply-goes-by-accounts',
      'a group is removed by what is true of all accounts',
      "since: { ...auditContext.since, account: 'any' }",
      'since: auditContext.since',
    ],
  ]),
  ...mutate('src/admin-api/accounts.ts', [
    [
      'groups-stored',
      'groups are looked for where they are stored',
      "documents.filter(({ kind }) => kind === 'group').map(({ name }) => name)",
      'catalog.current().groups.keys()',
    ],
  ]),
  ...mutate('src/admin-api/credits.ts', [
    [
      'refund-rest',
      'what is left to refund is read again where a part of it was given back',
      'if (asked === undefined) throw new Outpaced',
      'if (false) throw new Outpaced',
    ],
  ]),
];

export const changeMutations = [...told, ...outpaced, ...heard, ...creations, ...turns];
