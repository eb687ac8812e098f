// The place of an account in its company: the accounts above and below it, and the fields that set it.

import { Box, Breadcrumbs, NativeSelect, Text } from '@mantine/core';
import type { AccountShape } from '../../../src/admin-api/shapes.ts';
import { optionsOf, periodTexts } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { type Column, DataTable, moneyColumn, statusColumn } from '../../parts/data-table.tsx';
import { AccountSelect } from '../../parts/fields.tsx';
import { ButtonLink, pathOf, TextLink } from '../../parts/link.tsx';
import { UsedBar } from '../../parts/money.tsx';
import { Hint, Section } from '../../parts/page.tsx';
import { type Rows, useCosts, useGet, useList } from '../../queries.ts';

const payerLabels = { own: 'Own balance', parent: 'Parent account' };

const ofOwners = ['low_balances', 'person_budget', 'warns_at'];
const ofOwnersAbove = [...ofOwners, 'name', 'parent'];
const ofPayersAbove = [...ofOwnersAbove, 'groups', 'status', 'allowance'];

/** Whether the user may change a member of the account (docs/companies.md, "Rights"). */
export function useMayChange(account: AccountShape): (member: string) => boolean {
  const { role, account: own } = useMe();
  const above = account.pays_from === 'parent' ? ofPayersAbove : ofOwnersAbove;
  const members = own?.id === account.id ? ofOwners : above;
  return (member) => role === 'operator' || (role === 'owner' && members.includes(member));
}

/** The accounts above that the user sees, from the uppermost one. */
export function AccountTrail({ account }: { account: AccountShape }) {
  const parent = useAccount(account.parent);
  const top = useAccount(parent?.parent ?? null);
  if (parent === null) return null;
  return (
    <Breadcrumbs component="nav" aria-label="Parent accounts" mb="xs" className="breadcrumbs">
      {[...(top === null ? [] : [top]), parent].map(({ id, name }) => (
        <TextLink key={id} to={pathOf.account(id)} size="sm" className="wrap">
          {name}
        </TextLink>
      ))}
      <Text size="sm" className="wrap">
        {account.name}
      </Text>
    </Breadcrumbs>
  );
}

function useAccount(id: string | null): AccountShape | null {
  const { data } = useGet('/accounts/{id}', { id: id ?? undefined, isEnabled: id !== null });
  return id !== null && data?.id === id ? data : null;
}

export function useAccountsBelow({ id }: AccountShape): Rows<AccountShape> {
  return useList('/accounts', { query: { parent: id, below: 'true', limit: 1000 } });
}

interface AccountsBelowProps {
  account: AccountShape;
  below: Rows<AccountShape>;
}

/** Each account below, indented by its level, with its cost. */
export function AccountsBelow({ account, below }: AccountsBelowProps) {
  const { role } = useMe();
  const costs = useCosts('account', {
    query: { account: account.id, below: 'true' },
    isEnabled: below.rows.length > 0,
  });
  const levels = new Map(below.rows.map(({ id, parent }) => [id, parent === account.id ? 0 : 1]));
  return (
    <Section
      title="Sub-accounts"
      text="Departments and teams. Limits of this account apply to them, too."
      aside={
        role !== 'viewer' && (
          <ButtonLink label="Create account" size="xs" to="/accounts/new" search={{ parent: account.id }} icon="plus" />
        )
      }
    >
      <DataTable
        label="Sub-accounts"
        rows={{ ...below, rows: inTreeOrder(below.rows, account.id) }}
        columns={[
          nameColumn(levels),
          moneyColumn<AccountShape>('cost', costs.label, ({ id }) => costs.of(id)),
          allowanceColumn,
          {
            name: 'payer',
            label: 'Paid by',
            from: 'md',
            show: ({ pays_from: payer }) => <Text size="sm">{payerLabels[payer]}</Text>,
          },
          statusColumn({ from: 'sm' }),
        ]}
        keyOf={({ id }) => id}
        linkTo={({ id }) => pathOf.account(id)}
        empty={<Hint>No sub-accounts yet.</Hint>}
      />
    </Section>
  );
}

/** Each account after the one above it. */
function inTreeOrder(rows: readonly AccountShape[], parent: string): AccountShape[] {
  return rows.filter((row) => row.parent === parent).flatMap((row) => [row, ...inTreeOrder(rows, row.id)]);
}

function nameColumn(levels: ReadonlyMap<string, number>): Column<AccountShape> {
  return {
    name: 'name',
    label: 'Account',
    show: ({ id, name }) => (
      <Box pl={(levels.get(id) ?? 0) * 12}>
        <TextLink to={pathOf.account(id)} fw={600} className="wrap">
          {name}
        </TextLink>
      </Box>
    ),
  };
}

const allowanceColumn: Column<AccountShape> = {
  name: 'allowance',
  label: 'Allowance used',
  from: 'sm',
  show: ({ allowance, allowance_used: used, allowance_period: period }) => (
    <UsedBar
      used={used}
      limit={allowance}
      label="Allowance used"
      period={periodTexts[period] ?? period}
      widthPx={200}
    />
  ),
};

interface PlaceFieldsProps {
  form: {
    getInputProps: (name: string) => object;
    values: { parent: string; pays_from: string };
    setFieldValue: (name: 'parent' | 'pays_from', value: string) => void;
  };
}

/** The parent account and, for operators, whose balance pays. */
export function PlaceFields({ form }: PlaceFieldsProps) {
  const { role } = useMe();
  const { parent } = form.values;
  return (
    <>
      <AccountSelect
        label="Parent account"
        description="The company or department that this account belongs to."
        placeholder="None"
        clearable={role === 'operator'}
        {...form.getInputProps('parent')}
        value={parent === '' ? null : parent}
        onChange={(id) => form.setFieldValue('parent', id ?? '')}
      />
      {role === 'operator' && (
        <NativeSelect
          label="Paid by"
          description="Whose balance and plan pay for its requests."
          data={optionsOf(payerLabels)}
          {...form.getInputProps('pays_from')}
        />
      )}
    </>
  );
}
