// A command that lists one resource of the admin API and takes nothing but where the service is.

import { openClient } from './admin-client.ts';
import { type Command, clientFlags } from './command.ts';
import { type Column, printRows } from './output.ts';

/** `path` is below /api/v1; `whenEmpty` is printed in place of a table without rows. */
export function listCommand(
  words: { name: string; summary: string; whenEmpty: string },
  path: string,
  columns: readonly Column[],
): Command {
  return {
    name: words.name,
    summary: words.summary,
    positionals: [],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      await printRows(invocation, client.pages(path), columns, words.whenEmpty);
      return 0;
    },
  };
}
