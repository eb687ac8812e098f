// Accounts and keys: that there is someone to serve, and that nobody is in a group that is gone.

import type { Finding } from '../commands/commands.ts';
import type { Facts } from './facts.ts';

export function checkAccounts({ database }: Facts): Finding[] {
  if (database?.survey == null || 'failure' in database.survey) return [];
  const { accounts, usableKeys, lostGroups } = database.survey.is;
  const lost = lostGroups.map(
    ({ account, name, group }): Finding => ({
      severity: 'warning',
      code: 'account_group_missing',
      subject: `account ${account}`,
      message: `The account "${name}" is in the group "${group}", which does not exist: its keys find no model there.`,
      remedy: `Add the group ("turnpike apply"), or change the account's groups (PATCH /api/v1/accounts/ID).`,
    }),
  );
  return [...nobodyToServe(accounts, usableKeys), ...lost];
}

function nobodyToServe(accounts: number, usableKeys: number): Finding[] {
  if (accounts === 0)
    return [
      {
        severity: 'warning',
        code: 'no_account',
        subject: 'accounts',
        message: 'There is no account, so nobody can be served.',
        remedy: 'turnpike account create NAME --credit 10.00',
      },
    ];
  if (usableKeys > 0) return [];
  return [
    {
      severity: 'warning',
      code: 'no_usable_key',
      subject: 'keys',
      message: 'No account has a key that is enabled and has not expired, so every message is refused.',
      remedy: 'turnpike key create --account ID',
    },
  ];
}
