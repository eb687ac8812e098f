// `turnpike audit`: every change of the installation, by whom, from where. With --json it is an
// export: one array of all that matches.

import { openClient, type Row } from './admin-client.ts';
import { type Command, clientFlags } from './command.ts';
import { countFlag, textFlag, timeFlag } from './flags.ts';
import { printRows } from './output.ts';
import { LIST_LIMIT_DEFAULT } from './usage.ts';

const CHANGE_CHARACTERS_MAX = 160; // a line that can be read

export const audit: Command = {
  name: 'audit',
  summary: 'lists who changed what, newest first',
  positionals: [],
  flags: {
    account: { value: 'ID', help: 'only changes of this account and what is its' },
    object: { value: 'OBJECT', help: 'only changes of this object, such as key_… or "model NAME"' },
    actor: { value: 'ID', help: 'only changes by this token or person ("local": the operator of the machine)' },
    since: { value: 'TIME', help: 'only those from this time on' },
    until: { value: 'TIME', help: 'only those up to this time' },
    limit: { value: 'N', help: `at most so many (default: ${LIST_LIMIT_DEFAULT})` },
    ...clientFlags,
  },
  async run(invocation) {
    const { flags } = invocation;
    const query = {
      account: textFlag(flags, 'account'),
      object: textFlag(flags, 'object'),
      actor: textFlag(flags, 'actor'),
      since: timeFlag(flags, 'since'),
      until: timeFlag(flags, 'until'),
    };
    const limit = countFlag(flags, 'limit') ?? LIST_LIMIT_DEFAULT;
    const client = await openClient(invocation);
    await printRows(
      invocation,
      client.pages('/audit', query, limit),
      [
        ['AT', 'at'],
        ['ACTOR', 'actor'],
        ['ROLE', 'role'],
        ['ADDRESS', 'address'],
        ['ACTION', 'action'],
        ['OBJECT', 'object'],
        ['CHANGE', changeText],
      ],
      'There are no such changes.',
    );
    return 0;
  },
};

/** "status: enabled → disabled", for each member that changed; of what was made, what it was given. JSON has all of it. */
function changeText(row: Row): string {
  const before = (row['before'] ?? {}) as Row;
  const after = (row['after'] ?? {}) as Row;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const parts = names
    .filter((name) => !isNothing(before[name]) || !isNothing(after[name]))
    .map((name) => `${name}: ${row['before'] === null ? '' : `${shown(before[name])} → `}${shown(after[name])}`);
  const text = parts.join('; ');
  return text.length <= CHANGE_CHARACTERS_MAX ? text : `${text.slice(0, CHANGE_CHARACTERS_MAX)}…`;
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function shown(value: unknown): string {
  if (isNothing(value)) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
