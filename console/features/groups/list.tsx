// Groups with their models, price multiplier, limits and accounts. Operators edit them here.

import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { AccountShape, GroupShape, PageShape } from '../../../src/admin-api/shapes.ts';
import { countOf, formatCount } from '../../figures.ts';
import { useFilters } from '../../filters.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { type Column, DataTable, moneyColumn, NameLink, NoRows } from '../../parts/data-table.tsx';
import { FilterBar, SearchFilter } from '../../parts/fields.tsx';
import { Modal } from '../../parts/later.tsx';
import { ActionButton, ButtonLink, Icon, TextLink } from '../../parts/link.tsx';
import { EmptyState, FailureNotice, Hint, PageHead } from '../../parts/page.tsx';
import { RangeFilter } from '../../parts/range.tsx';
import { type Costs, useCosts, useGet, useList } from '../../queries.ts';
import { leave } from '../../unsaved.ts';
import { ReviewDialog, useReview } from '../catalog/review-dialog.tsx';
import { GroupForm } from './form.tsx';
import { limitTexts } from './limits.ts';

const ALL_ROWS = { limit: 1000 };
/** Up to this number of groups, the page suggests what to do next. */
const FEW_ROWS = 4;

export function GroupList() {
  const me = useMe();
  const isInstallation = seesInstallation(me);
  const { search } = useFilters().values;
  const groups = useList('/groups', { query: { search } });
  const accounts = useGet('/accounts', { query: ALL_ROWS, isEnabled: isInstallation });
  const costs = useCosts('group', { isEnabled: isInstallation });
  const [edited, setEdited] = useState<GroupShape | 'new' | null>(null);
  const removing = useReview({ done: 'Group deleted.' });
  const columns = [
    nameColumn,
    modelsColumn,
    multiplierColumn,
    limitsColumn,
    ...(isInstallation ? [accountsColumn(accounts.data), costColumn(costs)] : []),
    ...(me.role === 'operator'
      ? [
          actionsColumn(setEdited, ({ name }) =>
            removing.preview(() => ({ document: {}, remove: [{ kind: 'group', name }] })),
          ),
        ]
      : []),
  ];
  const add = <ActionButton label="Create group" isPrimary icon="plus" onClick={() => setEdited('new')} />;
  return (
    <>
      <PageHead
        title="Groups"
        text={
          isInstallation
            ? 'A group gives its accounts access to models, multiplies their prices and limits each account.'
            : 'The groups of your account, with their models and limits.'
        }
        actions={
          <>
            {isInstallation && <RangeFilter />}
            {me.role === 'operator' && add}
          </>
        }
      />
      <Stack>
        <FailureNotice failure={removing.failure} />
        {(groups.showMore !== null || search !== undefined) && <GroupFilter />}
        <DataTable
          label="Groups"
          isFolding
          rows={groups}
          columns={columns}
          keyOf={({ name }) => name}
          empty={
            <NoRows
              of="groups"
              icon="layers"
              title="No groups yet"
              text="Create a group to give accounts access to models."
              action={me.role === 'operator' && add}
            />
          }
        />
        {me.role === 'operator' && groups.rows.length > 0 && groups.rows.length <= FEW_ROWS && <NextStep />}
      </Stack>
      <ReviewDialog apply={removing} />
      <EditModal edited={edited} onDone={() => setEdited(null)} />
    </>
  );
}

function GroupFilter() {
  return (
    <FilterBar mb={0}>
      <SearchFilter name="search" label="Name" />
    </FilterBar>
  );
}

function NextStep() {
  return (
    <EmptyState
      icon="layers"
      title="Price tiers and limits"
      text="Create a group with a multiplier such as 0.8 for a discount, or with a rate limit for trial accounts. Then add the group to accounts."
      action={<ButtonLink label="View accounts" variant="default" to="/accounts" />}
    />
  );
}

interface EditModalProps {
  edited: GroupShape | 'new' | null;
  onDone: () => void;
}

function EditModal({ edited, onDone }: EditModalProps) {
  return (
    <Modal
      opened={edited !== null}
      onClose={() => leave(onDone)}
      size="lg"
      title={edited === null || edited === 'new' ? 'Create group' : `Edit ${edited.name}`}
    >
      {edited !== null && <GroupForm group={edited === 'new' ? null : edited} onDone={onDone} />}
    </Modal>
  );
}

const nameColumn: Column<GroupShape> = {
  name: 'name',
  label: 'Group',
  show: ({ name, residency }) => (
    <>
      <Text size="sm" fw={600} style={{ overflowWrap: 'break-word' }}>
        {name}
      </Text>
      {residency !== null && <Hint size="xs">{`Data stays in ${residency.join(', ')}`}</Hint>}
    </>
  ),
};

const modelsColumn: Column<GroupShape> = {
  name: 'models',
  label: 'Models',
  show: ({ name, models: patterns, model_count: count }) => (
    <NameLink to="/models" search={{ group: name }} name={countOf(count, 'model')} note={patterns.join(', ')} />
  ),
};

const multiplierColumn: Column<GroupShape> = {
  name: 'multiplier',
  label: 'Price multiplier',
  align: 'right',
  from: 'sm',
  show: ({ multiplier }) => <span className="tabular">{`× ${multiplier}`}</span>,
};

const limitsColumn: Column<GroupShape> = {
  name: 'limits',
  label: 'Limits per account',
  from: 'md',
  show: (group) => {
    const limits = limitTexts(group);
    return (
      <Text size="sm" {...(limits.length === 0 && { c: 'dimmed' })}>
        {limits.length === 0 ? 'No limits' : limits.join(' · ')}
      </Text>
    );
  },
};

/** Counts the first thousand accounts; "12+" if there are more. */
function accountsColumn(accounts: PageShape<AccountShape> | undefined): Column<GroupShape> {
  return {
    name: 'accounts',
    label: 'Accounts',
    align: 'right',
    from: 'sm',
    show: ({ name }) => {
      if (accounts === undefined) return null;
      const count = accounts.data.filter(({ groups }) => groups.includes(name)).length;
      return (
        <TextLink to="/accounts" search={{ group: name }} size="sm" className="tabular">
          {accounts.next_cursor === null ? formatCount(count) : `${count}+`}
        </TextLink>
      );
    },
  };
}

function costColumn(costs: Costs): Column<GroupShape> {
  return moneyColumn('cost', costs.label, ({ name }) => costs.of(name), { from: 'sm' });
}

function actionsColumn(onEdit: (group: GroupShape) => void, onRemove: (group: GroupShape) => void): Column<GroupShape> {
  return {
    name: 'actions',
    label: '',
    align: 'right',
    show: (group) => (
      <Group gap={6} justify="flex-end" wrap="nowrap">
        <Button size="xs" variant="default" onClick={() => onEdit(group)} aria-label={`Edit ${group.name}`} px={8}>
          <Icon name="pencil" sizePx={16} />
        </Button>
        <Button size="xs" variant="default" onClick={() => onRemove(group)} aria-label={`Delete ${group.name}`} px={8}>
          <Icon name="trash" sizePx={16} />
        </Button>
      </Group>
    ),
  };
}
