// Which groups a caller is in. Which models a group offers is the catalogue's.

import type { Caller } from './account.ts';

/**
 * The caller's groups, in the order in which they are asked for a model: the key's own where it
 * has any, else all of the account's. A group that the account has lost since is left out.
 */
export function groupsOf(caller: Caller): readonly string[] {
  const ofAccount = caller.account.groups;
  const ofKey = caller.key.groups;
  if (ofKey === null) return ofAccount;
  return ofKey.every((group) => ofAccount.includes(group)) ? ofKey : ofKey.filter((group) => ofAccount.includes(group));
}
