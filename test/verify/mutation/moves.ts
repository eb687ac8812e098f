// Guards that keep a move to PostgreSQL complete, and its two sides from both being served.

import type { Mutation } from './mutation.ts';
import { mutate } from './mutation.ts';

const order = mutate('src/maintenance/move.ts', [
  [
    'move-mark-first',
    'a move marks its source before it commits',
    '  writeMoveMark(path, mark);\n  await commit',
    '  await commit',
  ],
  ['move-mark-last', 'a move that was made is marked as made', 'writeMoveMark(path, { ...mark, isDone: true });', ''],
  [
    'move-mark-removed',
    'a move that was cut short takes its mark off only where it is known not to be made',
    'if (!(failure instanceof MoveCut)) removeMoveMark(path);',
    'removeMoveMark(path);\n    if (!(failure instanceof MoveCut)) {}',
  ],
  ['move-found', 'a move that was made is known again', '(await findMove(session)) === mark.id', 'false'],
  [
    'move-elsewhere',
    'a move that may have been made is not made elsewhere',
    'if (mark.to !== to) throw new Error(describeMark(mark));',
    '',
  ],
  ['move-once', 'what was moved is not moved again', 'if (mark?.isDone) throw new Error(describeMark(mark));', ''],
  ['move-verified', 'a ledger that violates its invariants is not moved', 'if (!check.ok) throw', 'if (false) throw'],
  [
    'move-stopped',
    'a service that runs is not moved',
    '  using _lock = lockStopped(config.dataDirectory);\n  const mark',
    '  const mark',
  ],
  ['move-secret', 'a move needs the secret', '  secretsToMove(config, path);\n  const to', '  const to'],
]);

const left = [
  ...mutate('src/storage/sqlite/open-database.ts', [
    ['moved-not-opened', 'what was moved is not opened for writing', '    refuseMoved(database);\n', ''],
  ]),
  ...mutate('src/storage/sqlite/move.ts', [
    [
      'moved-triggers',
      'what was moved is not served by a release that knows of no moves',
      'for (const { name, event } of TRIGGERS)',
      'for (const { name, event } of [] as typeof TRIGGERS)',
    ],
  ]),
];

const taken = [
  ...mutate('src/storage/postgres/fill-database.ts', [
    [
      'fill-compared',
      'what was copied is compared',
      'if (differences.length === 0) return;',
      'if (differences.length >= 0) return;',
    ],
    ['fill-empty', 'only an empty database is filled', '  await refuseRows(session);\n', ''],
  ]),
  ...mutate('src/storage/postgres/fill-database.ts', [
    [
      'target-empty',
      'nothing is moved beside other rows',
      'if (found.length === 0) return;',
      'if (found.length >= 0) return;',
    ],
  ]),
  ...mutate('src/storage/postgres/fill-database.ts', [
    ['target-lock', 'one move at a time is at a database', '    await takeLock(session);\n', ''],
  ]),
  ...mutate('src/storage/postgres/fill-database.ts', [
    [
      'receive-numbers',
      'numbers go on after those that were moved',
      "if (columns.some(({ name }) => name === 'seq'))",
      'if (false)',
    ],
    ['receive-suited', 'texts are suited to PostgreSQL', 'row[name] = suited;', ''],
  ]),
];

export const moveMutations: readonly Mutation[] = [...order, ...left, ...taken];
