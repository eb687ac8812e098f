// The role that a user, token or directory group gets, and the account that roles of accounts need.

import { roleLabels } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { AccountSelect, useChoosesAccount } from '../../parts/fields.tsx';
import { Select } from '../../parts/later.tsx';

type AnyRole = keyof typeof roleLabels;

interface RoleValues {
  role: AnyRole;
  /** Empty: the user's own, if they have one. */
  account: string;
}

interface RoleFieldsProps {
  roles: readonly AnyRole[];
  form: { values: RoleValues; setFieldValue(name: keyof RoleValues, value: string): void };
  faults?: Readonly<Record<string, string>> | null;
}

export function RoleFields({ roles, form, faults = null }: RoleFieldsProps) {
  const me = useMe();
  const choosesAccount = useChoosesAccount();
  const { role, account } = form.values;
  return (
    <>
      <Select
        label="Role"
        required
        allowDeselect={false}
        data={roles.map((value) => ({ value, label: roleLabels[value] }))}
        value={role}
        onChange={(value) => form.setFieldValue('role', value ?? role)}
        error={faults?.['role']}
      />
      {choosesAccount && isOfAccount(role) && (
        <AccountSelect
          label="Account"
          description="Owners and members belong to one account."
          required
          value={account || me.account?.id || null}
          onChange={(id) => form.setFieldValue('account', id ?? '')}
          error={faults?.['account']}
        />
      )}
    </>
  );
}

function isOfAccount(role: AnyRole): boolean {
  return role === 'owner' || role === 'member';
}

/** The members of a body. The API reports a missing account. */
export function roleMembers({ role, account }: RoleValues): { role: AnyRole; account?: string } {
  return { role, ...(isOfAccount(role) && account !== '' && { account }) };
}
